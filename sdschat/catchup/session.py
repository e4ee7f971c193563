"""Catching up, step by step: whom to ask, what to want, and when it is done.

One source is asked at a time: a comparison, the messages that it shows to be lacking, and a comparison again, until
there is nothing more to be had. First the newest hundred, for whoever is reading; then the rest, oldest first, so that
causes come before what follows from them. A source that falls silent is left for another one, which is compared with
anew: what came in the meantime is not lacking any more, so nothing comes twice. Pure: time is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sdschat.catchup.comparer import RangeComparer
from sdschat.catchup.equal_ranges import EqualRanges
from sdschat.catchup.fetch_plan import FetchPlan, Sequenced
from sdschat.catchup.id_only import IdOnlyMessages
from sdschat.catchup.peers import HistorySource, HistorySources, Rests
from sdschat.catchup.store_check import PageCheck
from sdschat.catchup.values import (
    AnswerFrame,
    Ask,
    BadAnswer,
    CatchUpProgress,
    CatchUpState,
    ComparedLog,
    Declined,
    Frame,
    HistoryPage,
    IdOnly,
    LogKey,
    Want,
)

PATIENCE: Final = 2_000  # milliseconds until the first question is asked again: it may be one who never answers
PATIENCE_DOUBTFUL: Final = 600  # the same where nothing speaks for the source, and there are others
PATIENCE_LATER: Final = 8_000  # the same for those after it, which take more work
TRIES: Final = 5
SILENCE: Final = 20_000  # without a page: the source is gone, whatever its presence says
FRUITLESS: Final = 900_000  # without a new message: the source is left, however often it answers
LIAR_REST: Final = 3_600_000
SOURCES: Final = 3  # to be compared with before everything counts as found
ROUNDS: Final = 16  # comparisons with one source that bring something new


class CatchUpSession:
    """`begin`, then tell what comes and when `next_wake` is over. `frames` is what is to be sent, and to whom."""

    def __init__(self, log: ComparedLog, draw: Callable[[], int], rests: Rests | None = None) -> None:
        """`draw` gives a number below 2^64 that nobody can guess. `rests`: of whoever asks the same sources too."""
        self._log = log
        self._draw = draw
        self.state = CatchUpState.DONE
        self.begun = False
        self.frames: list[tuple[str, Frame]] = []
        self.ranges: tuple[str, Want] | None = None  # to be asked of a Store in its own way
        self.lacked_by: dict[str, int] = {}  # sources that lack messages of ours, and how many
        self.equal: list[EqualRanges] = []  # with whom, and where
        self.low = self._high = LogKey(0, "")
        self._sources = HistorySources(Rests() if rests is None else rests)
        self._source: HistorySource | None = None
        self._last_source = ""
        self._comparer: RangeComparer | None = None
        self._session = self._number = 0
        self._plan = FetchPlan()
        self._told = IdOnlyMessages()
        self.watch = PageCheck()  # of the source that is asked now
        self._pages = Sequenced()
        self._lowest: LogKey | None = None
        self._deadline: int | None = None
        self._question: Frame | None = None  # to be sent again if nothing comes of it
        self._came_last = False  # all of it came: once it is in the log, compare again
        self._tries = self._rounds = 0
        self._done = self._total = 0
        self._came = 0  # new messages since the last comparison
        self._fruitless_at = 0  # without a new message until then, the source is left
        self._turn_ends = self._came_in_turn = 0

    @property
    def source(self) -> str:
        """Return the name of the source that is asked now, or an empty string."""
        return "" if self._source is None else self._source.name

    @property
    def reach(self) -> LogKey:
        """Return the key from which on the log is as complete as the sources that were asked could make it; all of them
        dropped the messages before it."""
        return self._sources.reach or self.low

    @property
    def active(self) -> bool:
        return self.state is not CatchUpState.DONE

    def progress(self) -> CatchUpProgress:
        return CatchUpProgress(self.state, min(self._done, self._total), self._total, self._last_source)

    # Verbs.

    def begin(self, low: LogKey, high: LogKey, mono: int) -> None:
        """Catch up on everything from `low` to `high`. What was under way goes on with the new bounds."""
        self._drop_source()
        self.begun = True
        self.low, self._high = low, high
        self._sources.restart()
        self._done = self._total = 0
        self._plan = FetchPlan()
        if self.state is not CatchUpState.PAUSED:
            self.state = CatchUpState.WAITING
            self._next_source(mono)

    def pause(self) -> None:
        if self.active:
            self._drop_source()
            self.state = CatchUpState.PAUSED

    def resume(self, mono: int) -> None:
        if self.state is CatchUpState.PAUSED:
            self.state = CatchUpState.WAITING
            self._next_source(mono)

    def sources(self, present: Sequence[HistorySource], mono: int) -> None:
        """Replace the list of sources that can be asked now, the best first. Drop the current source if it is
        gone. Begin with the next source if we wait for one."""
        self._sources.replace(present, mono)
        if self._source is not None and self._source.name not in self._sources:
            self._drop_source()
            self.state = CatchUpState.WAITING
        self._next_source(mono)

    def asked_by(self, peer: str, mono: int) -> None:
        """Note that a peer fetches something from us just now."""
        if self.state is CatchUpState.WAITING:
            self._sources.asks_us(peer, mono)

    def compared_by(self, peer: str, frame: Frame, ask: Ask, mono: int) -> None:
        """Note that a peer compares with us just now. Where both compare with each other, one leads and the other
        yields: the one that got further leads; of two that begin at once, the one with fewer messages, which more
        likely lacks some."""
        if (
            peer == self.source
            and self.state is CatchUpState.COMPARING
            and not self._rounds
            and self._comparer is not None
        ):
            ours = (-self._number, self._comparer.messages, self._session)
            if (-frame.number, ask.messages, frame.session) < ours:
                self._sources.goes_first(peer, mono)
                self._drop_source()
                self.state = CatchUpState.WAITING
                self._next_source(mono)
        self.asked_by(peer, mono)

    def nudged(self, peer: str, mono: int) -> None:
        """Ask a peer that says it has what we lack."""
        self._sources.has_more(peer)
        self._next_source(mono)

    def offline(self) -> None:
        """Stop asking, because the connection is gone. No source is to blame."""
        self._sources.clear()
        self._drop_source()
        self.frames.clear()
        if self.state in (CatchUpState.COMPARING, CatchUpState.LOADING):
            self.state = CatchUpState.WAITING

    def advance(self, mono: int) -> None:
        if self._source is not None and self._turn_ends <= mono:
            self._end_turn(mono)
        if self._deadline is not None and self._deadline <= mono:
            if self._came_last and self._source is not None:
                self._compare_with(self._source, mono)
            else:
                self._overdue(mono)
        elif self.state is CatchUpState.WAITING:
            self._next_source(mono)

    def _begin_turn(self, mono: int) -> None:
        self._came_in_turn = 0
        self._turn_ends = mono + self._sources.turn(self.source)

    def _end_turn(self, mono: int) -> None:
        """Leave the source for one that gave more for its turns."""
        self._sources.end_turn(self.source, self._came_in_turn)
        if self._sources.waits(self.source, mono):
            self._leave(mono)
        else:
            self._begin_turn(mono)

    def next_wake(self) -> int | None:
        if self._deadline is not None:
            return min(self._deadline, self._turn_ends) if self._sources.others(self.source) else self._deadline
        return self._sources.next_wake() if self.state is CatchUpState.WAITING else None

    def heard(self, source: str, frame: Frame, mono: int) -> None:
        """Take in the answer of a source to the last question, or its refusal to answer."""
        if source != self.source and self._sources.answered_late(source):
            if self.state is CatchUpState.DONE:
                self.state = CatchUpState.WAITING  # only others were compared with, and they may lie
            self._next_source(mono)
        if source != self.source or (frame.session, frame.number) != (self._session, self._number):
            return
        if isinstance(frame.what, Declined) or mono >= self._fruitless_at:
            self._fail(mono)
        elif isinstance(frame.what, AnswerFrame) and self._comparer is not None:
            if not frame.what.replies:
                self._deadline = mono + PATIENCE_LATER  # too much asked for at once: the same again later
                return
            try:
                self._comparer.answered(frame.what)
            except BadAnswer:
                self._fail(mono, LIAR_REST)
                return
            self.equal += [EqualRanges(source, self._session, *stretch) for stretch in self._comparer.equal]
            self._comparer.equal.clear()
            self._ask(mono)

    def page(self, source: str, page: HistoryPage) -> bool:
        """Take a page that came. Return False if nobody waits for it. `take_pages` returns the pages that can be used
        now."""
        if source != self.source or self.state is not CatchUpState.LOADING:
            return False
        return (page.session, page.want) == (self._session, self._number) and self._pages.put(page)

    def take_pages(self) -> list[HistoryPage]:
        """Return the pages in their order. Call `took` for each of them."""
        return self._pages.take()

    def wanted(self, key: LogKey) -> bool:
        """True if a message was asked for: nothing else is taken from a source."""
        return self._plan.covers(key)

    def take_told(self) -> list[IdOnly]:
        """Take the ids that sources told, once all were asked: nobody who is here gave the messages."""
        return [] if self.active else self._told.take()

    def took(self, keys: Sequence[LogKey], new: int, last: bool, mono: int, ids: Sequence[IdOnly] = ()) -> None:
        """Note that a page was taken in. `keys`: its messages, `new` of which were not here. `last`: there are no more.
        `ids`: messages of which the source has the id alone."""
        if self.state is not CatchUpState.LOADING or self._source is None:
            return
        self._came_in_turn += new + len(ids)
        if new:
            self._fruitless_at = mono + FRUITLESS
            self._sources.gave(self.source)
        self._question, self._deadline = None, min(mono + SILENCE, self._fruitless_at)
        self._told.came(keys)
        self._told.add(self.source, ids)
        keys = [*keys, *(one.key for one in ids)]
        self._done += len(keys)
        self._came += new
        if keys:
            self._lowest = min(keys) if self._lowest is None else min(*keys, self._lowest)
        if last:
            self._plan.settle(self._lowest)
            self._want(mono)

    @property
    def ascending(self) -> bool:
        """True if the pages that come now begin with the oldest message."""
        return not self._plan.partly

    def floor(self, source: str, lamport: int) -> None:
        """Note that a source keeps nothing dated before this time: another source may have it."""
        if source == self.source and lamport > self.low.lamport:
            self._sources.floors[source] = LogKey(lamport, "")
            self._plan.forget_below(LogKey(lamport, ""))
            self.watch.forget_below(LogKey(lamport, ""))

    def failed(self, source: str, mono: int, lied: bool = False) -> None:
        """Leave a source that cannot be reached, does not give pages, or gives what it should not."""
        if source == self.source and self._source is not None:
            self._fail(mono, LIAR_REST if lied else 0)

    # Choosing a source.

    def _next_source(self, mono: int) -> None:
        if self.state is not CatchUpState.WAITING or self._source is not None:
            return
        source = self._sources.next(mono)
        if source is not None:
            self._rounds = 0
            self._fruitless_at = mono + FRUITLESS
            self.watch = PageCheck()
            self._source = source
            self._begin_turn(mono)
            self._compare_with(source, mono)
        elif self._sources.compared and not self._sources.goes_on(mono):
            self.state = CatchUpState.DONE

    def _compare_with(self, source: HistorySource, mono: int) -> None:
        self._source, self._last_source = source, source.name
        self._came_last = False
        self.state = CatchUpState.COMPARING
        self._session, self._number = self._draw(), 0
        # The first comparison may guess; the second finds that the logs are equal, or else what was guessed wrong.
        low = self._sources.floors.get(source.name, self.low)
        if low >= self._high:  # it dropped everything that is wanted: there is nothing to ask
            self._finish(mono)
            return
        log = self._told.over(self._log, source.name)
        self._comparer = RangeComparer(log, low, self._high, self._session, guess=not self._rounds)
        self._ask(mono)

    def _drop_source(self) -> None:
        source, self._source = self._source, None
        if source is not None and self.state is CatchUpState.LOADING:
            self._number += 1
            self.frames.append((source.name, Frame(self._session, self._number, Want((), 0))))
        self._comparer = self._deadline = self.ranges = None
        self._came_last = False
        self._pages.clear()
        self._plan.replace(())

    def _fail(self, mono: int, rest: int = 0) -> None:
        self._sources.failed(self.source, mono, rest)
        self._leave(mono)

    def _leave(self, mono: int) -> None:
        self._drop_source()
        self.state = CatchUpState.WAITING
        self._next_source(mono)

    def _overdue(self, mono: int) -> None:
        self._tries += 1
        if self._question is None or self._tries >= TRIES or self._is_doubtful(mono):
            self._fail(mono)
            return
        self._send_question(mono)

    def _is_doubtful(self, mono: int) -> bool:
        """True if nothing speaks for this source so far, and there is another one to try."""
        unknown = self._source is not None and not self._source.proven and self._number == 1
        return unknown and self._sources.untried(self.source, mono)

    # Comparing and wanting.

    def _ask(self, mono: int) -> None:
        """Ask the next questions; if there are none, act on the last answers."""
        assert self._comparer is not None
        ask = self._comparer.ask()
        if ask is None:
            self._asked_all(self._comparer, mono)
            return
        self._number += 1
        self._put(ask, mono)

    def _put(self, what: Ask | Want, mono: int) -> None:
        self._tries = 0
        self._question = Frame(self._session, self._number, what)
        self._send_question(mono)

    def _send_question(self, mono: int) -> None:
        assert self._question is not None
        self.frames.append((self.source, self._question))
        patience = PATIENCE if self._number == 1 else PATIENCE_LATER
        self._deadline = mono + (PATIENCE_DOUBTFUL if self._is_doubtful(mono) else patience)

    def _asked_all(self, comparer: RangeComparer, mono: int) -> None:
        """Load what the comparison found, or finish: it is known now what this source has."""
        self._comparer = self._deadline = None
        if comparer.lacking:
            self.lacked_by[self.source] = comparer.lacking
        self._rounds += 1
        if not comparer.needs or (self._rounds > 2 and not self._came) or self._rounds > ROUNDS:
            self._finish(mono)
            return
        self._came = 0
        self._plan.replace(comparer.needs)
        self.watch.expect(comparer.needs)
        self._total = self._done + comparer.lacks
        self.state = CatchUpState.LOADING
        self._want(mono)

    def _finish(self, mono: int) -> None:
        """End with this source: nothing more is to be had from it."""
        self._sources.done_with(self.source, self.low)
        self._source = self._comparer = self._deadline = None
        enough = len(self._sources.compared) >= SOURCES and not self._sources.offered
        self.state = CatchUpState.DONE if enough else CatchUpState.WAITING
        self._next_source(mono)

    def _want(self, mono: int) -> None:
        """Send the next request; if there is none, begin the comparison that shows if there is more."""
        assert self._source is not None
        if not self._plan:
            # In the next turn, when what came is saved: of a question about the log as it was, the other side does not
            # learn that the logs are equal now, and so not that we have its messages.
            self._came_last, self._question, self._deadline = True, None, mono
            self._number += 1  # no page is waited for
            return
        want = self._plan.choose(apart=self._source.store)
        self._number += 1
        self._lowest = None
        self._pages.clear()
        if self._source.store and not any(stretch.shorts for stretch in want.stretches):
            self._question, self._deadline = None, mono + SILENCE
            self.ranges = (self._source.name, want)
        else:
            self._put(want, mono)
