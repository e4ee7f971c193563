"""Answering questions about our log. Stateless: what is answered follows from the question and the log alone."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from sdschat.catchup import values
from sdschat.catchup.sketch import LEAST_CELLS, Shortener, fill
from sdschat.catchup.values import AnswerFrame, Ask, ComparedLog, LogKey, Question, QuestionKind, RangePart, RangeReply

# Messages that may be read for one peer at once, for all that are known together, and for all others together,
READING_BUDGET: Final = 3_000_000
READING_RATE: Final = 20  # how many more for one with every millisecond,
READING_RATE_OF_ALL: Final = 30  # and for all: keys cost nothing, so one who asks may be many
AT_ONCE: Final = 65_536  # for one frame: a message that came behind it waits meanwhile
_KEY_TOLD: Final = 16  # what a key counts that is told in full: reading it is the least of it
_PEERS: Final = 1024


class ReadingBudget:
    """A limit on the reading that others may cause: a budget of messages read, which refills with time."""

    __slots__ = ("_at", "_rate", "_room", "left")

    def __init__(self, room: int, rate: int, mono: int) -> None:
        """`room` messages at once, `rate` of them more with every millisecond."""
        self._room = room
        self._rate = rate
        self._at = mono
        self.left = room

    def refresh(self, mono: int) -> None:
        self.left = min(self._room, self.left + (mono - self._at) * self._rate)
        self._at = mono

    def spend(self, messages: int) -> None:
        self.left -= messages


class PeerBudget:
    """The budget of one peer, as far as that of all suffices for it."""

    __slots__ = ("_all", "_own")

    def __init__(self, own: ReadingBudget, of_all: ReadingBudget) -> None:
        self._own = own
        self._all = of_all

    @property
    def left(self) -> int:
        return min(self._own.left, self._all.left)

    def spend(self, messages: int) -> None:
        self._own.spend(messages)
        self._all.spend(messages)


class ReadingBudgets:
    """A budget for each peer, one for all that are known, and one for all others."""

    def __init__(self, is_known: Callable[[str], bool] = lambda peer: False) -> None:
        """`is_known`: True for a peer that is no invention of today, so that new keys do not use up what it may have
        read."""
        self._is_known = is_known
        self._of_all: dict[bool, ReadingBudget] = {}
        self._own: OrderedDict[str, ReadingBudget] = OrderedDict()  # who asked last stands last

    def of(self, peer: str, mono: int) -> PeerBudget:
        """Return the budget of a peer as it is now."""
        own = self._own.pop(peer, None) or ReadingBudget(READING_BUDGET, READING_RATE, mono)
        self._own[peer] = own
        if len(self._own) > _PEERS:
            self._own.popitem(last=False)
        known = self._is_known(peer)
        of_all = self._of_all.get(known) or ReadingBudget(READING_BUDGET, READING_RATE_OF_ALL, mono)
        self._of_all[known] = of_all
        own.refresh(mono)
        of_all.refresh(mono)
        return PeerBudget(own, of_all)


Budget = ReadingBudget | PeerBudget


def answer(ask: Ask, log: ComparedLog, budget: Budget) -> AnswerFrame:
    """Return as many replies as the budget allows, to the first questions. None at all: the peer asks for too much."""
    replies: list[RangeReply] = []
    shortener = Shortener(ask.salt)
    parts = cells = 0
    least = max(0, budget.left - AT_ONCE)
    for question in ask.questions:
        if budget.left <= least or parts > values.PARTS_IN_ALL or cells > values.CELLS_IN_ALL:
            break
        reply = _reply(question, ask.salt, log, shortener, budget)
        parts, cells = parts + len(reply.parts), cells + len(reply.cells)
        replies.append(reply)
    return AnswerFrame(tuple(replies))


def _reply(question: Question, salt: int, log: ComparedLog, shortener: Shortener, budget: Budget) -> RangeReply:
    kind, low, high, number, _ = question
    if kind is QuestionKind.PARTS:
        return _parts(question, salt, log, budget)
    if kind is QuestionKind.KEYS:
        keys = log.keys(low, high, values.KEYS + 1)
        told = len(keys) <= values.KEYS
        budget.spend(len(keys) * (_KEY_TOLD if told else 1))
        return RangeReply(keys=tuple(LogKey(*key) for key in keys)) if told else RangeReply()
    keys = log.keys(low, high, 2 * values.LEAF + 1)
    budget.spend(2 * len(keys))
    # As many cells as messages would be as long as the list of them, which says more.
    listed = number >= len(keys)
    if len(keys) > 2 * values.LEAF or not (listed or number >= LEAST_CELLS):
        return RangeReply()
    shorts = shortener.shorts(keys)
    return RangeReply(cells=tuple(shorts if listed else fill(shorts, number - number % 3)), listed=listed)


def _parts(question: Question, salt: int, log: ComparedLog, budget: Budget) -> RangeReply:
    _, low, high, number, fingerprint = question
    whole = log.summary(low, high)
    budget.spend(values.BUCKET + whole.messages // values.BUCKET)
    own = whole.fingerprint(salt)
    if own == fingerprint:
        return RangeReply(equal=True)
    if number <= 1 or whole.messages <= 1:
        return RangeReply(parts=(RangePart(high, whole.messages, own),))
    found: list[RangePart] = []
    number = min(number, values.PARTS)
    bounds = log.cut(low, high, number)
    # Where there are too few buckets, all of it is read to cut it, and again to add it up.
    few = whole.messages < number * values.BUCKET
    budget.spend(2 * whole.messages if few else len(bounds) * values.BUCKET // 4)
    for end in (*bounds, high):
        summary = log.summary(low, end)
        found.append(RangePart(end, summary.messages, summary.fingerprint(salt)))
        low = end
    return RangeReply(parts=tuple(found))
