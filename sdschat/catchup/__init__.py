"""Finding out what two logs do not have in common, without I/O, at a cost that grows with the difference.

A log is a set of (Lamport time, id), in this order. `index` keeps sums over stretches of it, `RangeComparer` compares
with another log by questions, and `answer` is the other side of that. What differs is then fetched: see `sdschat/node`.
"""

from sdschat.catchup.comparer import RangeComparer
from sdschat.catchup.responder import answer
from sdschat.catchup.values import HIGHEST, LOWEST, AnswerFrame, Ask, BadAnswer, ComparedLog, LogKey, Need, RangeSummary

__all__ = [
    "HIGHEST",
    "LOWEST",
    "AnswerFrame",
    "Ask",
    "BadAnswer",
    "ComparedLog",
    "LogKey",
    "Need",
    "RangeComparer",
    "RangeSummary",
    "answer",
]
