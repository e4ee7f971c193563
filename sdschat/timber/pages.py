"""States in pages: ours for those who ask for it, and one of a peer whom we asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from sdschat.timber import limits
from sdschat.timber.config import MINUTE
from sdschat.timber.core import EngineState
from sdschat.timber.replica import Replica
from sdschat.timber.states import state_for
from sdschat.timber.values import CheckpointMark, Packet, Reason, StatePage, StateWanted, chained

STATES_AN_HOUR: Final = 3  # for one peer, who may lose some pages or start again; there are others to ask
MADE_AN_HOUR: Final = 12  # for one peer, also where no page is left for it: to make a large one takes a second
_FEW: Final = 16  # pages: of a small state there may be as many
_HOUR: Final = 60 * MINUTE
_PAGES_A_ROUND: Final = 40  # full ones in a `sync_interval`: so fast a peer may give all, beyond its turn
DOUBLINGS: Final = 6  # of the time until the same is tried with a peer again, and of a turn


class GivenState(NamedTuple):
    """A state in pages. `only_to`: the peer that it is for, where it is ahead of the compaction."""

    mark: CheckpointMark
    bodies: list[bytes]
    only_to: bytes | None
    takers: set[bytes]  # whom its first page was sent to


class _Paged(NamedTuple):
    """Pages that a peer was given."""

    since: int
    until: int  # when the last one is on its way no more
    page: int = -1  # the number of the last one
    number: int = 0  # how many since `since`
    made: int = 0  # large states that were made for it since then


class _Rest(NamedTuple):
    """A peer that was asked for its state, and gave none."""

    times: int
    until: int


class StateGiver:
    """Gives one state at a time. Nothing in it must survive a stop."""

    def __init__(self, core: EngineState) -> None:
        self.core = core
        self.given: GivenState | None = None
        self.given_at = 0
        self.paged: dict[tuple[bytes, bool], _Paged] = {}  # by peer, and if it asked
        self.newest: dict[bytes, int] = {}  # the number of the newest question for a first page, by peer

    def offer(self, peer: bytes) -> None:
        """Send the first page to a peer that seems to be behind."""
        self.answer(peer, StateWanted(0, 0))

    def answer(self, peer: bytes, wanted: StateWanted) -> None:
        """Send the page that a peer asks for, if there is a state for it.

        Anybody may send an old question again, or an old clock, by which a peer seems to be behind. First pages for
        these count apart, so that they use up nothing of what the peer itself asks for.
        """
        core = self.core
        asked = bool(wanted.page) or wanted.number > self.newest.get(peer, 0)
        if not wanted.page:
            self.newest[peer] = max(wanted.number, self.newest.get(peer, 0))
            core.compact()
            if not self._may_give_again(peer):
                made = self._make(peer, asked)
                if made is None:
                    return
                self.given = made
        given = self.given
        if given is None:
            return
        if not wanted.page:
            given.takers.add(peer)
        elif peer not in given.takers or wanted.number != given.mark.number:
            return  # it has pages of a state that was made before
        self.given_at = core.mono
        if wanted.page < len(given.bodies) and self._may_page((peer, asked), wanted.page, len(given.bodies)):
            page = StatePage(given.mark, wanted.page, len(given.bodies), given.bodies[wanted.page])
            core.packets.append(Packet(peer, page))

    def _may_page(self, peer: tuple[bytes, bool], page: int, total: int) -> bool:
        """True if a peer may have a page now: a request is small, and a state may be large."""
        mono, paged = self.core.mono, self._paged(peer)
        if paged.number >= STATES_AN_HOUR * max(total, _FEW) or (mono < paged.until and page <= paged.page):
            return False
        until = mono + self.core.config.retry // 8
        self.paged[peer] = paged._replace(until=until, page=page, number=paged.number + 1)
        return True

    def _paged(self, peer: tuple[bytes, bool]) -> _Paged:
        """Return what a peer was given in this hour."""
        mono, paged = self.core.mono, self.paged.get(peer)
        return _Paged(mono, mono) if paged is None or mono >= paged.since + _HOUR else paged

    def _may_give_again(self, peer: bytes) -> bool:
        """True if the state that was made last is not old, and is for this peer too."""
        core, given = self.core, self.given
        if given is None or core.mono - self.given_at > 2 * core.config.sync_interval:
            return False
        return given.only_to in (None, peer) and given.mark in (core.replica.base, core.replica.mark)

    def _make(self, peer: bytes, asked: bool) -> GivenState | None:
        """Return the state for a peer, if there is one, and not too many were made for it."""
        paged = self._paged((peer, asked))
        state = state_for(self.core.replica, peer) if paged.made < MADE_AN_HOUR else None
        if state is None:
            return None
        raw = self.core.codec.encode_state(state)
        size = limits.PAGE_BYTES
        bodies = [raw[start : start + size] for start in range(0, len(raw), size)]
        self.paged[peer, asked] = paged._replace(made=paged.made + (len(bodies) > _FEW))
        return GivenState(state.mark, bodies, None if state.mark == self.core.replica.base else peer, set())


def goes_on_from(replica: Replica, mark: CheckpointMark) -> bool:
    """True if a checkpoint of somebody is ours, lies behind ours, or is in front of it in our own history."""
    passed = replica.mark
    node = replica.settled.after if replica.settled is not None else None
    while node is not None and passed.number < mark.number:
        if not node.dead:
            passed = CheckpointMark(passed.number + 1, chained(passed.hash, node.id))
        node = node.after
    return mark.number < replica.mark.number or passed == mark


@dataclass(slots=True)
class TakenState:
    """A state of a peer, as far as it has come."""

    peer: bytes
    mark: CheckpointMark
    total: int
    bodies: list[bytes]
    until: int  # when its turn is over, if another peer offers a state
    size: int = 0


class StateTaker:
    """Takes one state at a time: only pages that were asked for, of whom they were asked, each once. A peer that gives
    none, or one too slowly, lets others go first. Nothing in it must survive a stop."""

    def __init__(self, core: EngineState) -> None:
        self.core = core
        self.taken: TakenState | None = None
        self.taken_at = 0
        self.asked: set[bytes] = set()  # peers that may send a first page, each one: it answers a clock too
        self.asking: bytes | None = None  # the peer that was asked last, until its first page comes
        self.asked_until = core.mono  # before that, nobody else is asked
        self.rests: dict[bytes, _Rest] = {}
        self.newest: dict[bytes, int] = {}  # the newest checkpoint of a first page, by peer, until it fails
        self.again: set[bytes] = set()  # peers that were left for a newer state of theirs, since they failed
        self.number = 0  # of our newest question for a first page, which none of an earlier run has

    def ask(self, peer: bytes) -> None:
        """Ask a peer for its state, if no other one is asked now: a state may be large."""
        core, taken = self.core, self.taken
        if self.asked_until > core.mono or (taken is not None and (peer == taken.peer or core.mono < taken.until)):
            return
        if taken is not None:
            self.failed(taken.peer)
        elif self.asking is not None:
            self.failed(self.asking)
        if self._is_resting(peer):
            return
        self.asking = peer
        self.number = max(self.number + 1, core.wall)
        self.asked_until = core.mono + core.config.retry // 4
        self.asked.add(peer)
        core.packets.append(Packet(peer, StateWanted(self.number, 0)))

    def _is_resting(self, peer: bytes) -> bool:
        return peer in self.rests and self.core.mono < self.rests[peer].until

    def failed(self, peer: bytes) -> None:
        """Let others go first from now on: this one gave no state, or one that cannot be taken."""
        times = self.rests[peer].times + 1 if peer in self.rests else 0
        rest = self.core.config.sync_interval << min(times, DOUBLINGS)
        self.rests[peer] = _Rest(times, self.core.mono + rest)
        self.taken = self.asking = None
        self.newest.pop(peer, None)
        self.again.discard(peer)

    def ask_again(self) -> bool:
        """Ask for the page that we wait for. False if we wait for none."""
        if self.taken is not None:
            self._ask_next(self.taken)
        return self.taken is not None

    def expire(self) -> None:
        """Forget the pages of a peer that sends no more of them. Its first page may have been an old packet, which
        anybody may send again: where a newer one came after it, once this is no failure."""
        taken, config = self.taken, self.core.config
        if taken is None:
            return
        waited = self.core.mono - self.taken_at
        is_old = self.newest[taken.peer] > taken.mark.number and taken.peer not in self.again
        if is_old and waited > config.retry // 4:
            self.taken = None
            self.again.add(taken.peer)
        elif waited > 2 * config.sync_interval:
            self.failed(taken.peer)

    def take(self, peer: bytes, page: StatePage) -> bytes | None:
        """Take in a page, and ask for the next one. Return all bytes of the state with the last one."""
        core, taken = self.core, self.taken
        if page.mark.number <= core.replica.mark.number:
            return None
        if page.page == 0 and not self._is_newest(peer, page.mark.number):
            return None
        if page.page == 0 and peer in self.asked and not self._is_resting(peer):
            self.asked.discard(peer)
            if taken is None or (taken.peer == peer and taken.mark != page.mark):
                turn = 2 * core.config.sync_interval << min(len(self.rests), DOUBLINGS)
                taken, self.asking = TakenState(peer, page.mark, page.pages, [], core.mono + turn), None
        if taken is None or (taken.mark, taken.total, taken.peer) != (page.mark, page.pages, peer):
            core.refuse(peer, Reason.OTHER_STATE, "page")
            return None
        if page.page != len(taken.bodies):
            return None
        self.taken, self.taken_at = taken, core.mono
        taken.bodies.append(page.body)
        taken.size += len(page.body)
        taken.until += core.config.sync_interval * len(page.body) // limits.PAGE_BYTES // _PAGES_A_ROUND
        if taken.size > limits.STATE_BYTES:
            self.failed(peer)
            core.refuse(peer, Reason.TOO_LARGE, "state")
            return None
        if len(taken.bodies) < taken.total:
            self._ask_next(taken)
            return None
        self.taken = None
        return b"".join(taken.bodies)

    def _is_newest(self, peer: bytes, number: int) -> bool:
        """True for a first page that may be taken: it is none of an earlier state of its peer, nor of another peer than
        the one that we have just asked. Others may be old packets."""
        core = self.core
        newest = self.newest[peer] = max(number, self.newest.get(peer, 0))
        if core.replica.tree.first is None:  # nobody offers a newcomer what it did not ask for
            return number == newest and self.asking == peer
        return number == newest and (self.asking in (None, peer) or core.mono >= self.asked_until)

    def _ask_next(self, taken: TakenState) -> None:
        self.core.packets.append(Packet(taken.peer, StateWanted(taken.mark.number, len(taken.bodies))))
