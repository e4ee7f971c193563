"""Finding out what two logs do not have in common, without I/O, at a cost that grows with the difference.

A log is a set of (Lamport time, id), in this order. `index` keeps sums over stretches of it, `Asker` compares with
another log by questions, and `answer` is the other side of that. What differs is then fetched: see `sdschat/node`.
"""

from sdschat.catchup.comparer import Asker
from sdschat.catchup.responder import answer
from sdschat.catchup.values import HIGHEST, LOWEST, Answer, Ask, BadAnswer, Key, Log, Need, Summary

__all__ = ["HIGHEST", "LOWEST", "Answer", "Ask", "Asker", "BadAnswer", "Key", "Log", "Need", "Summary", "answer"]
