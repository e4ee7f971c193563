"""A log in memory, as a comparison wants it: for simulations and tests."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from sdschat.catchup.index import RangeIndex, split
from sdschat.catchup.values import LOWEST, LogKey, RangeSummary


class MemoryLog:
    """Sorted keys, and the index over them."""

    def __init__(self, keys: Iterable[tuple[int, str]] = ()) -> None:
        self._keys = sorted(keys)
        self.index = RangeIndex(split(LOWEST, self._keys))

    def add(self, keys: Sequence[tuple[int, str]]) -> None:
        self._keys = sorted([*self._keys, *keys])
        self.index.apply(self.index.draft(keys, (), self.keys))

    def discard(self, keys: Sequence[tuple[int, str]]) -> None:
        gone = set(keys)
        self._keys = [key for key in self._keys if key not in gone]
        self.index.apply(self.index.draft((), keys, self.keys))

    def summary(self, low: LogKey, high: LogKey) -> RangeSummary:
        return self.index.summary(low, high, self.keys)

    def keys(self, low: LogKey, high: LogKey, limit: int = -1) -> Sequence[tuple[int, str]]:
        found = self._keys[bisect_left(self._keys, low) : bisect_left(self._keys, high)]
        return found if limit < 0 else found[:limit]

    def cut(self, low: LogKey, high: LogKey, parts: int) -> list[LogKey]:
        return self.index.cut(low, high, parts, self.keys)
