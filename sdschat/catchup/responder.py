"""Answering questions about our log. Stateless: what is answered follows from the question and the log alone."""

from __future__ import annotations

from sdschat.catchup import values
from sdschat.catchup.sketch import Shortener, fill
from sdschat.catchup.values import AnswerFrame, Ask, ComparedLog, LogKey, Question, QuestionKind, RangePart, RangeReply


class ReadingBudget:
    """A limit on the reading that a peer may cause: a budget of messages read, which refills with time."""

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


def answer(ask: Ask, log: ComparedLog, effort: ReadingBudget) -> AnswerFrame:
    """As many replies as the effort allows, the first questions first. None at all: the peer asks for too much."""
    replies: list[RangeReply] = []
    shortener = Shortener(ask.salt)
    parts = cells = 0
    for question in ask.questions:
        if effort.left <= 0 or parts > values.PARTS_IN_ALL or cells > values.CELLS_IN_ALL:
            break
        reply = _reply(question, ask.salt, log, shortener, effort)
        parts, cells = parts + len(reply.parts), cells + len(reply.cells)
        replies.append(reply)
    return AnswerFrame(tuple(replies))


def _reply(question: Question, salt: int, log: ComparedLog, shortener: Shortener, effort: ReadingBudget) -> RangeReply:
    kind, low, high, number, _ = question
    if kind is QuestionKind.PARTS:
        return _parts(question, salt, log, effort)
    if kind is QuestionKind.KEYS:
        keys = log.keys(low, high, values.KEYS + 1)
        effort.spend(len(keys))
        return RangeReply(keys=tuple(LogKey(*key) for key in keys)) if len(keys) <= values.KEYS else RangeReply()
    keys = log.keys(low, high, 2 * values.LEAF + 1)
    effort.spend(2 * len(keys))
    if len(keys) > 2 * values.LEAF:
        return RangeReply()
    shorts = shortener.shorts(keys)
    # As many cells as messages would be as long as the list of them, which says more.
    listed = number >= len(shorts)
    return RangeReply(cells=tuple(shorts if listed else fill(shorts, number - number % 3)), listed=listed)


def _parts(question: Question, salt: int, log: ComparedLog, effort: ReadingBudget) -> RangeReply:
    _, low, high, number, fingerprint = question
    effort.spend(values.BUCKET)
    whole = log.summary(low, high)
    own = whole.fingerprint(salt)
    if own == fingerprint:
        return RangeReply(equal=True)
    if number <= 1 or whole.messages <= 1:
        return RangeReply(parts=(RangePart(high, whole.messages, own),))
    found: list[RangePart] = []
    bounds = log.cut(low, high, min(number, values.PARTS))
    effort.spend(len(bounds) * values.BUCKET // 4)
    for end in (*bounds, high):
        summary = log.summary(low, end)
        found.append(RangePart(end, summary.messages, summary.fingerprint(salt)))
        low = end
    return RangeReply(parts=tuple(found))
