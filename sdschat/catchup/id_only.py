"""Ids that sources told without their messages, because they keep no more of them themselves.

Who tells an id may invent it, or keep a message from us. So an id of one source is none of the log when the next one is
compared with: that one is asked for the message too. Only when all were asked, ids are put into the log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from sdschat.catchup.values import ComparedLog, IdOnly, LogKey, RangeSummary

MOST: Final = 20_000  # of one source in one catching up
A_DAY: Final = 200_000  # ids put into one log: about 25 MB. Whoever invents them would fill the disk
_DAY: Final = 24 * 3_600_000  # milliseconds


class IdOnlyLimit:
    """The number of ids that go into one log in a day. Nothing can be checked of them, and one who tells without end is
    compared with again and again."""

    def __init__(self) -> None:
        self._since = self._count = 0

    def within(self, ids: list[IdOnly], mono: int) -> list[IdOnly]:
        """Return as many of the ids as may still go into the log, and count them."""
        if mono - self._since >= _DAY:
            self._since, self._count = mono, 0
        taken = ids[: A_DAY - self._count]
        self._count += len(taken)
        return taken


class IdOnlyMessages:
    """The ids that came since all were taken last, by source."""

    def __init__(self) -> None:
        self._by_source: dict[str, dict[LogKey, str]] = {}  # sender ids, by key

    def add(self, source: str, ids: Iterable[IdOnly]) -> None:
        known = self._by_source.setdefault(source, {})
        for key, sender_id in ids:
            if len(known) < MOST:
                known.setdefault(key, sender_id)

    def came(self, keys: Iterable[LogKey]) -> None:
        """Drop these messages: they are here in full now."""
        for key in keys:
            for known in self._by_source.values():
                known.pop(key, None)

    def over(self, log: ComparedLog, source: str) -> ComparedLog:
        """Return the log to compare with a source: what it told is no difference to it."""
        known = self._by_source.get(source)
        return _WithIdOnly(log, sorted(known)) if known else log

    def take(self) -> list[IdOnly]:
        """Take all ids, in order. Of two with different dates the first one told stands."""
        found: dict[str, IdOnly] = {}
        for known in self._by_source.values():
            for key, sender_id in known.items():
                found.setdefault(key.message_id, IdOnly(key, sender_id))
        self._by_source.clear()
        return sorted(found.values())


class _WithIdOnly:
    """A `ComparedLog` over another one, with some keys more."""

    def __init__(self, log: ComparedLog, told: Sequence[LogKey]) -> None:
        self._log = log
        self._told = told

    def _between(self, low: LogKey, high: LogKey) -> Sequence[LogKey]:
        return self._told[bisect_left(self._told, low) : bisect_left(self._told, high)]

    def summary(self, low: LogKey, high: LogKey) -> RangeSummary:
        found = self._log.summary(low, high)
        for key in self._between(low, high):
            found = found.with_key(key)
        return found

    def keys(self, low: LogKey, high: LogKey, limit: int) -> Sequence[tuple[int, str]]:
        found = sorted([*self._log.keys(low, high, limit), *self._between(low, high)])
        return found if limit < 0 else found[:limit]

    def cut(self, low: LogKey, high: LogKey, parts: int) -> list[LogKey]:
        return self._log.cut(low, high, parts)
