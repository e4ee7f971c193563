"""The side that wants to know: compares stretch by stretch, and ends with what it lacks.

First one question about everything. Where the fingerprints differ, the other side cuts the stretch into parts, and
those that differ are cut again. Where they have one message more than we do, the fingerprints tell which, if nothing
else differs; what is small, or differs in much, is looked at by short ids. The newest parts come first.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from sdschat.catchup import values
from sdschat.catchup.sketch import Shortener, differ
from sdschat.catchup.values import (
    AnswerFrame,
    Ask,
    BadAnswer,
    ComparedLog,
    LogKey,
    Need,
    Question,
    QuestionKind,
    RangePart,
    RangeReply,
    RangeSummary,
    behind,
    difference,
    makes_up,
)

_MOST_PARTS: Final = 64
_LEAST_PARTS: Final = 8
_PARTS_EACH: Final = 1.5  # for each message that differs: most of them then are alone in their part, which shows them
_SMALL: Final = values.BUCKET_PART * 5 // 4  # messages: to cut what has no more would take reading it
_DENSE: Final = 8  # one message of so many differs: short ids are shorter than parts
_LISTED: Final = 3  # where this part of the messages may differ, short ids are listed one by one
_ROUNDS: Final = 6  # with more cells each time, before all of a stretch is taken to be lacking
_COUNTED: Final = values.LEAF  # messages: where fetching begins, parts with more are cut, so as to know what to expect
_CUTS: Final = 3
_CELLS_A_PACKET: Final = 4096
_PARTS_A_PACKET: Final = 512
MOST_KNOWN: Final = 100_000  # needs and open questions; what is left is found by the comparison after fetching


class _OpenQuestion(NamedTuple):
    """A question to be asked, and how often about this stretch."""

    question: Question
    theirs: int  # messages they have there; -1: not known
    tries: int = 0


class RangeComparer:
    """`ask`, then `answered`, by turns, until `ask` gives nothing more. What is lacking is in `needs`, newest first."""

    def __init__(self, log: ComparedLog, low: LogKey, high: LogKey, salt: int, *, guess: bool = True) -> None:
        """`guess`: take it that nothing else differs where they have one message more. Whoever finds that what was
        fetched has not made the logs equal compares again, without guessing."""
        self._log = log
        self._salt = salt
        self._guess = guess
        self._shortener = Shortener(salt)
        own = log.summary(low, high)
        self.messages = own.messages
        self._ends = (low, high)
        first = Question(QuestionKind.PARTS, low, high, _MOST_PARTS, own.fingerprint(salt))
        self._open: deque[_OpenQuestion] = deque([_OpenQuestion(first, -1)])
        self._asked: list[_OpenQuestion] = []
        self.needs: list[Need] = []
        self.equal: list[tuple[LogKey, LogKey]] = []  # stretches in which there is no difference
        self.lacking = 0  # how many of ours they lack, as far as it is known
        self._usual = 1.0  # messages that differ in a stretch
        self.questions = 0

    @property
    def lacks(self) -> int:
        """Return the number of messages that we need, as far as it is known."""
        return sum(need.messages for need in self.needs)

    def ask(self) -> Ask | None:
        """Return the next questions; nothing where all is known. The same again, until they are answered."""
        if not self._asked:
            # Whoever cuts without end would fill the memory.
            if self.needs and len(self.needs) + len(self._open) >= MOST_KNOWN:
                self._open.clear()
            parts = cells = 0
            while self._open and len(self._asked) < values.QUESTIONS:
                question, theirs, _ = self._open[0]
                parts += question.number if question.kind is QuestionKind.PARTS else 0
                cells += min(question.number, theirs) if question.kind is not QuestionKind.PARTS else 0
                if self._asked and (parts > _PARTS_A_PACKET or cells > _CELLS_A_PACKET):
                    break
                self._asked.append(self._open.popleft())
            self.questions += len(self._asked)
        return Ask(self._salt, tuple(one.question for one in self._asked), self.messages) if self._asked else None

    def answered(self, answer: AnswerFrame) -> None:
        """Take in the replies to the last questions. Raises `BadAnswer` for replies that do not fit them; the
        comparison is of no use any more then."""
        asked, self._asked = self._asked, []
        if not 1 <= len(answer.replies) <= len(asked):
            raise BadAnswer(f"{len(answer.replies)} replies to {len(asked)} questions")
        following: list[_OpenQuestion] = []
        for one, reply in zip(asked, answer.replies, strict=False):
            match one.question.kind:
                case QuestionKind.PARTS:
                    following += self._parts(one, reply)
                case QuestionKind.CELLS:
                    following += self._cells(one, reply)
                case QuestionKind.KEYS:
                    self._keys(one, reply)
        self._open.extendleft(reversed([*following, *asked[len(answer.replies) :]]))

    # Replies.

    def _parts(self, one: _OpenQuestion, reply: RangeReply) -> list[_OpenQuestion]:
        question = one.question
        if reply.equal:
            if self._log.summary(question.low, question.high).fingerprint(self._salt) == question.fingerprint:
                self.equal.append((question.low, question.high))  # and nothing was added since we asked
            return []
        _check_parts(question, reply.parts)
        following: list[_OpenQuestion] = []
        low = question.low
        whole = len(reply.parts) == 1
        for part in reply.parts:
            found = self._part(low, part, whole, one.tries)
            if found is not None:
                following.append(found)
            low = part.high
        return following[::-1]

    def _part(self, low: LogKey, part: RangePart, whole: bool, tries: int) -> _OpenQuestion | None:
        """Return the next question about a part, or None if the part is settled."""
        high, theirs = part.high, part.messages
        ours = self._log.summary(low, high)
        if ours.messages == theirs and ours.fingerprint(self._salt) == part.fingerprint:
            self.equal.append((low, high))
            return None
        if not theirs:
            self.lacking += ours.messages
            return None
        if not ours.messages:
            at_end = low == self._ends[0] or high == self._ends[1]
            if theirs > _COUNTED and at_end and not whole and tries < _CUTS:
                return _OpenQuestion(Question(QuestionKind.PARTS, low, high, _MOST_PARTS), theirs, tries + 1)
            self.needs.append(Need(low, high, theirs))
            return None
        if self._sole(low, part, ours):
            return None
        most = max(ours.messages, theirs)
        apart = max(abs(ours.messages - theirs), self._usual)
        looked_at = most <= values.LEAF and (most <= _SMALL or apart * _DENSE >= most)
        if looked_at or (whole and most <= 2 * values.LEAF):
            return _OpenQuestion(
                Question(QuestionKind.CELLS, low, high, self._cells_for(ours.messages, theirs)), theirs
            )
        if theirs <= values.KEYS:
            return _OpenQuestion(Question(QuestionKind.KEYS, low, high, theirs), theirs)
        parts = min(_MOST_PARTS, max(_LEAST_PARTS, int(apart * _PARTS_EACH)), max(2, most // values.BUCKET_PART))
        return _OpenQuestion(Question(QuestionKind.PARTS, low, high, parts), theirs)

    def _sole(self, low: LogKey, part: RangePart, ours: RangeSummary) -> bool:
        """True if a single message is the difference, as far as the fingerprints tell. The message is then recorded."""
        if ours.messages > values.LEAF:
            return False  # to find it takes reading all of the part
        own = ours.fingerprint(self._salt)
        if part.messages - ours.messages == 1 and self._guess:
            self.needs.append(Need(low, part.high, 1, (difference(part.fingerprint, own),), True))
            return True
        if ours.messages - part.messages == 1:
            keys = self._log.keys(low, part.high, -1)
            found = makes_up(keys, difference(own, part.fingerprint), self._salt)
            self.lacking += len(found)
            return bool(found)
        return False

    def _cells(self, one: _OpenQuestion, reply: RangeReply) -> list[_OpenQuestion]:
        _, low, high, number, _ = one.question
        if len(reply.cells) > (2 * values.LEAF if reply.listed else number):
            raise BadAnswer(f"{len(reply.cells)} cells, and {number} were asked for")
        if not reply.cells and not reply.listed:  # so many came there since that they are too many for cells
            return [_OpenQuestion(Question(QuestionKind.PARTS, low, high, _MOST_PARTS), one.theirs)]
        ours = self._shortener.shorts(self._log.keys(low, high, -1))
        if reply.listed:
            self._listed(low, high, ours, reply.cells)
            return []
        if len(reply.cells) % 3:
            raise BadAnswer(f"{len(reply.cells)} cells")
        found = differ(ours, reply.cells)
        if found.whole:
            self._note(len(found.theirs) + found.ours)
            self.lacking += found.ours
            self._lack(low, high, found.theirs)
            return []
        more = 2 * (number + len(found.theirs) + found.ours)
        if one.tries >= _ROUNDS or more >= one.theirs // 2:
            more = 2 * values.LEAF
        return [_OpenQuestion(Question(QuestionKind.CELLS, low, high, more), one.theirs, one.tries + 1)]

    def _note(self, differing: int) -> None:
        """Adjust the usual number of differing messages in a stretch: a good guess for the next stretch."""
        self._usual += (differing - self._usual) / 8

    def _listed(self, low: LogKey, high: LogKey, ours: list[int], theirs: tuple[int, ...]) -> None:
        """Compare our short ids of a stretch with theirs, which are listed one by one, and note the messages that
        either side lacks."""
        known, distinct = set(ours), set(theirs)
        self.lacking += len(known - distinct)
        if len(distinct) == len(theirs):
            self._lack(low, high, tuple(short for short in theirs if short not in known))
        elif len(theirs) > len(known):
            self.needs.append(Need(low, high, len(theirs)))  # two with the same short id: all of them

    def _lack(self, low: LogKey, high: LogKey, shorts: tuple[int, ...]) -> None:
        if shorts:
            self.needs.append(Need(low, high, len(shorts), shorts))

    def _keys(self, one: _OpenQuestion, reply: RangeReply) -> None:
        question = one.question
        if len(reply.keys) > values.KEYS or not all(question.low <= key < question.high for key in reply.keys):
            raise BadAnswer("keys that are not of the stretch")
        if list(reply.keys) != sorted(set(reply.keys)):
            raise BadAnswer("keys out of order")
        lacked = [key for key in reversed(reply.keys) if not self._log.keys(key, behind(key), 1)]
        self.needs += [Need(key, behind(key), 1) for key in lacked]
        if reply.keys:  # else so many came there since that they are not told
            here = len(reply.keys) - len(lacked)
            self.lacking += max(0, self._log.summary(question.low, question.high).messages - here)

    def _cells_for(self, ours: int, theirs: int) -> int:
        """Return the number of cells to ask for. With as many cells as messages, the reply is a list of short ids."""
        apart = max(abs(ours - theirs), self._usual)
        if apart * _LISTED >= theirs:
            return 2 * values.LEAF
        return 3 * (2 + int(apart * 0.6))


def _check_parts(question: Question, parts: tuple[RangePart, ...]) -> None:
    if not 1 <= len(parts) <= max(1, min(question.number, values.PARTS)):
        raise BadAnswer(f"{len(parts)} parts, and {question.number} were asked for")
    low = question.low
    for part in parts:
        if not low < part.high <= question.high:
            raise BadAnswer("parts out of order")
        low = part.high
    if low != question.high:
        raise BadAnswer("parts that are not the whole")
