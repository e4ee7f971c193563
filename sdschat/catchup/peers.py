"""Sources that can be asked, their order, and the one table of sources that failed. Pure.

The table says until when each is left alone. Catching up asks here for everybody, and questions to Stores ask here too:
with two tables one of them could wait for a source that the other had no intention to try again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from sdschat.catchup.values import LogKey

REST_FIRST: Final = 2_000  # milliseconds after the first failure, doubled with each one that follows
# A Store that is back is used again within this time. One question in so long is no load for anybody.
REST_LONGEST: Final = 16_000
REST_OF_PEERS: Final = 60_000  # the same for participants, of whom there may be many
_MOST: Final = 2048  # anybody can make up sources: the oldest of so many is forgotten
_DOUBLINGS: Final = 16


class _Rest(NamedTuple):
    times: int
    until: int  # on the monotonic clock


class Rests:
    """Sources that failed, by name."""

    __slots__ = ("_rests",)

    def __init__(self) -> None:
        self._rests: dict[str, _Rest] = {}

    def __len__(self) -> int:
        return len(self._rests)

    def until(self, name: str) -> int:
        """Return the time at which the source may be asked again; 0 if it does not rest."""
        rest = self._rests.get(name)
        return 0 if rest is None else rest.until

    def failed(self, name: str, mono: int, rest: int = 0, longest: int = REST_LONGEST) -> None:
        """Note a failure. `rest` milliseconds replace the doubling rest. Several questions to one source often fail
        together, and are told by both who asked: while it rests already, they count as one failure."""
        known = self._rests.get(name)
        if known is not None and known.until > mono and not rest:
            return
        times = min(known.times + 1, _DOUBLINGS) if known is not None else 0
        until = mono + (rest or min(REST_FIRST << times, longest))
        self._rests[name] = _Rest(times, max(until, known.until if known is not None else 0))
        if len(self._rests) > _MOST:
            del self._rests[next(iter(self._rests))]

    def forget(self, name: str) -> None:
        """Forget its failures: it answered, or it was started again."""
        self._rests.pop(name, None)


# Each source has its turn while others wait, for anybody can give invented messages one by one. After it, what each
# gave decides who goes on, and no bound: whoever gives a little more than that would go on for ever. To compare again
# with who was left takes a few packets.
TURN: Final = 5_000  # milliseconds; twice as long each time that a source gave next to nothing, which may be far away
EXPECTED: Final = 250  # messages in a turn, of a source that had none yet
_FEW: Final = 10  # messages in a turn: whoever gives fewer counts as one who gives nothing
# Who comes when we are here asks first: that shows what both lack, and after it equal logs cost next to nothing.
AFTER_YOU: Final = 5_000  # milliseconds
ALONE: Final = 1_000  # so long we must have been here before it


class _Turns(NamedTuple):
    """The turns of a source that are over, and the messages in the last one, as of a turn that is no longer than
    others."""

    over: int = 0
    gave: int = EXPECTED


class HistorySource(NamedTuple):
    """A peer that may be asked for history. `store`: it gives pages of the log in its own way (see
    `CatchUpSession.ranges`). `proven`: it said something before, and so is no invention."""

    name: str
    store: bool = False
    proven: bool = False


def by_turns(stores: Sequence[HistorySource], participants: Sequence[HistorySource]) -> list[HistorySource]:
    """Return all of them, a Store first, and then by turns: anybody can say to be a Store."""
    return [source for both in zip_longest(stores, participants) for source in both if source is not None]


class HistorySources:
    """Those that are present, the best first. `compared`: whoever nothing more is to be had from.

    One that failed or gave nothing is not tried again before every one was, since anybody can make up sources that
    never answer. The others have turns in proportion to what they give.
    """

    def __init__(self, rests: Rests) -> None:
        self._rests = rests
        self.compared: set[str] = set()
        self.floors: dict[str, LogKey] = {}  # of those that dropped what is older
        self.reach: LogKey | None = None  # how far back the one that has most was compared with
        self._present: dict[str, HistorySource] = {}
        self._left_to_ask_until: dict[str, int] = {}  # those who ask us first, and until when they are left to it
        self._alone_since: int | None = None
        self._failures: dict[str, int] = {}  # since `restart`, or since it gave something
        self._turns: dict[str, _Turns] = {}  # since `restart`
        # Those who say that they have what we lack. `restart` keeps them: who was asked before may have hidden it.
        self._offers: set[str] = set()
        self._late: set[str] = set()  # since `restart`: those who answered after they were left

    def __contains__(self, name: str) -> bool:
        return name in self._present

    def restart(self) -> None:
        """Forget who was asked and who failed: every source may be asked again."""
        self.compared.clear()
        self.floors.clear()
        self.reach = None
        self._left_to_ask_until.clear()
        self._failures.clear()
        self._turns.clear()
        self._late.clear()
        for name in self._present:
            self._rests.forget(name)
        self._alone_since = None

    def clear(self) -> None:
        """Forget which sources are present: nobody can be seen, which does not mean that nobody is there."""
        self._present = {}

    def replace(self, present: Sequence[HistorySource], mono: int) -> None:
        known, self._present = self._present, {source.name: source for source in present}
        alone = self._alone_since is not None and mono - self._alone_since >= ALONE
        for name in self._present.keys() - known:
            self._rests.forget(name)  # it was started again, and has nothing to do with what failed before
            if alone and not self._present[name].store:  # which need not be left to ask, for it has what we want
                self._left_to_ask_until[name] = mono + AFTER_YOU
        self._alone_since = None if self._present else (self._alone_since or mono)
        self._left_to_ask_until = {
            name: until for name, until in self._left_to_ask_until.items() if name in self._present
        }
        self._failures = {name: times for name, times in self._failures.items() if name in self._present}
        self._turns = {name: turns for name, turns in self._turns.items() if name in self._present}
        self._offers &= self._present.keys()

    def next(self, mono: int) -> HistorySource | None:
        """Return the one to ask now: of those who gave most one that offers what we lack, or the first."""
        free = (
            source
            for source in self._present.values()
            if source.name not in self.compared and self._until(source.name) <= mono
        )
        found = min(
            free,
            key=lambda source: (self._cost(source.name), source.name not in self._offers),
            default=None,
        )
        return found._replace(proven=True) if found is not None and found.name in self._late else found

    def untried(self, name: str, mono: int) -> bool:
        """True if another source than this one may be asked now and did not fail yet."""
        return any(
            other != name
            and other not in self.compared
            and not self._failures.get(other)
            and self._until(other) <= mono
            for other in self._present
        )

    def turn(self, name: str) -> int:
        """Return the length of the next turn of a source."""
        over, gave = self._turns.get(name, _Turns())
        return TURN << min(over, _DOUBLINGS) if gave < _FEW else TURN

    def end_turn(self, name: str, messages: int) -> None:
        """Note that a turn of a source is over, in which so many messages came."""
        over, _ = self._turns.get(name, _Turns())
        self._turns[name] = _Turns(over + 1, messages * TURN // self.turn(name))

    def others(self, name: str) -> bool:
        """True if another source than this one is still to be asked."""
        return any(other != name and other not in self.compared for other in self._present)

    def waits(self, name: str, mono: int) -> bool:
        """True if another source may be asked now, and gave more for its turns than this one."""
        most = self._cost(name)
        return any(
            other not in self.compared and self._cost(other) < most and self._until(other) <= mono
            for other in self._present
        )

    def _cost(self, name: str) -> float:
        """Return what a source costs: its turns, with the next one, for each of a few messages that it gives in one."""
        failures, (over, gave) = self._failures.get(name, 0), self._turns.get(name, _Turns())
        if failures:
            gave = 0
        elif not over and not self._present[name].proven:
            gave //= 1 + len(self._failures)  # anybody can make up more of those who do not answer
        return (over + failures + 1) / (1 + gave // _FEW)

    @property
    def offered(self) -> bool:
        """True if somebody who is here says to have what we lack, and was not compared with since."""
        return any(name in self._present for name in self._offers)

    def next_wake(self) -> int | None:
        """Return the time at which the first source that rests may be asked, or None."""
        return min(
            (until for name in self._present if name not in self.compared and (until := self._until(name))),
            default=None,
        )

    def _until(self, name: str) -> int:
        return max(self._left_to_ask_until.get(name, 0), self._rests.until(name))

    def done_with(self, name: str, low: LogKey) -> None:
        """Note that a source has nothing more for us of what is dated from `low` on."""
        self.compared.add(name)
        self._offers.discard(name)
        low = self.floors.get(name, low)
        self.reach = low if self.reach is None else min(low, self.reach)

    def failed(self, name: str, mono: int, rest: int = 0) -> None:
        source = self._present.get(name)
        self._failures[name] = self._failures.get(name, 0) + 1
        self._offers.discard(name)
        self._rests.failed(name, mono, rest, REST_LONGEST if source is not None and source.store else REST_OF_PEERS)

    def answered_late(self, name: str) -> bool:
        """True if a source answers after it was left, for the first time: it is there, and slow, and has more time when
        it is asked again."""
        first = name in self._failures and name not in self._late
        if first:
            self._late.add(name)
            self.gave(name)
        return first

    def gave(self, name: str) -> None:
        self._failures.pop(name, None)
        self._rests.forget(name)

    def asks_us(self, name: str, mono: int) -> None:
        """Note that a source compares with us just now, and will say if we lack something: we need not."""
        if self._until(name) > mono:
            self._rests.forget(name)  # it is alive
            self._left_to_ask_until[name] = mono + AFTER_YOU

    def goes_first(self, name: str, mono: int) -> None:
        """Note that both sides began to compare at once, and that we let this source go first."""
        self._left_to_ask_until[name] = mono + AFTER_YOU

    def goes_on(self, mono: int) -> bool:
        """True while somebody compares with us who was let go first: it will say if we lack something."""
        return any(
            until > mono and name in self._present and name not in self.compared
            for name, until in self._left_to_ask_until.items()
        )

    def has_more(self, name: str) -> None:
        """Note that a source says that it has what we lack."""
        self.compared.discard(name)
        self._offers.add(name)
        self._left_to_ask_until.pop(name, None)
        self._rests.forget(name)
