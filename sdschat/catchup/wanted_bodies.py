"""A log without the messages whose bodies are wanted: compared with it, whoever has them has something that we lack."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from sdschat.catchup.values import ComparedLog, LogKey, RangeSummary


class WantedBodies:
    """A `ComparedLog` over another one. As long as nothing is wanted, it is that one."""

    def __init__(self, log: ComparedLog) -> None:
        self._log = log
        self._wanted: list[tuple[int, str]] = []  # in order; all of them are in the log, without a body

    def __len__(self) -> int:
        return len(self._wanted)

    def __contains__(self, key: tuple[int, str]) -> bool:
        return bool(self._between(key, (key[0], key[1] + "\0")))

    def want(self, keys: Iterable[tuple[int, str]]) -> int:
        """Want the bodies of these messages of the log. Return the number of those that were not wanted before."""
        fresh = [key for key in dict.fromkeys(keys) if key not in self]
        for key in fresh:
            insort(self._wanted, key)
        return len(fresh)

    def found(self, key: tuple[int, str]) -> None:
        """Want a message no more, since its body came."""
        at = bisect_left(self._wanted, key)
        if self._wanted[at : at + 1] == [key]:
            del self._wanted[at]

    def give_up(self) -> int:
        """Want nothing any more. Return the number of those that did not come."""
        left = len(self._wanted)
        self._wanted.clear()
        return left

    def _between(self, low: tuple[int, str], high: tuple[int, str]) -> Sequence[tuple[int, str]]:
        return self._wanted[bisect_left(self._wanted, low) : bisect_left(self._wanted, high)]

    # `ComparedLog`.

    def summary(self, low: LogKey, high: LogKey) -> RangeSummary:
        found = self._log.summary(low, high)
        for key in self._between(low, high):
            found = found.without_key(key)
        return found

    def keys(self, low: LogKey, high: LogKey, limit: int) -> Sequence[tuple[int, str]]:
        left_out = set(self._between(low, high))
        if not left_out:
            return self._log.keys(low, high, limit)
        enough = limit if limit < 0 else limit + len(left_out)
        found = [key for key in self._log.keys(low, high, enough) if key not in left_out]
        return found if limit < 0 else found[:limit]

    def cut(self, low: LogKey, high: LogKey, parts: int) -> list[LogKey]:
        return self._log.cut(low, high, parts)
