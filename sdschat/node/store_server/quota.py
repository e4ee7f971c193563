"""Limits of a Store's work for each asker: one that asks without end gets its share and no more, and nobody else gets
less."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MIB: Final = 1024 * 1024
BYTES_EACH: Final = 256 * MIB  # of answers a minute for one participant, of whatever channel
BYTES_ALL: Final = 1024 * MIB  # for all of them
QUERIES_EACH: Final = 3_000  # a minute; checking a signature costs more than most answers
QUERIES_ALL: Final = 60_000  # of all: keys cost nothing, so one asker may be many
_ASKERS: Final = 4096
_MINUTE: Final = 60_000
REPLAY_WINDOW: Final = 10 * 60_000  # milliseconds that a question's date may be off
_SEEN: Final = 65_536


class QuotaBucket:
    """Fills up again within a minute."""

    __slots__ = ("_at", "_limit", "_spent")

    def __init__(self, limit: int, now: int) -> None:
        self._limit = limit
        self._spent = 0.0
        self._at = now

    def room(self, now: int) -> bool:
        """True if something may be spent. The last amount spent may exceed the rest; the next one then lacks the
        excess."""
        self._spent = max(0.0, self._spent - (now - self._at) * self._limit / _MINUTE)
        self._at = now
        return self._spent < self._limit

    def spend(self, amount: int) -> None:
        self._spent += amount


class Quota:
    """For all channels of a Store together. Times are on the monotonic clock."""

    def __init__(
        self, each: int = BYTES_EACH, all_: int = BYTES_ALL, queries: int = QUERIES_EACH, queries_all: int = QUERIES_ALL
    ) -> None:
        self._each = each
        self._queries = queries
        self._all_queries = QuotaBucket(queries_all, 0)
        self._all = QuotaBucket(all_, 0)
        self._askers: OrderedDict[str, tuple[QuotaBucket, QuotaBucket]] = OrderedDict()

    def may_ask(self, requester: str, now: int) -> bool:
        """True if this question is worth being answered; it is then counted. `requester` proved to have asked it."""
        queries = self._of(requester, now)[0]
        if not queries.room(now) or not self._all_queries.room(now):
            return False
        queries.spend(1)
        self._all_queries.spend(1)
        return True

    def may_have(self, requester: str, now: int) -> bool:
        return self._of(requester, now)[1].room(now) and self._all.room(now)

    def given(self, requester: str, size: int, now: int) -> None:
        self._of(requester, now)[1].spend(size)
        self._all.spend(size)

    def _of(self, requester: str, now: int) -> tuple[QuotaBucket, QuotaBucket]:
        found = self._askers.get(requester)
        if found is None:
            found = self._askers[requester] = (QuotaBucket(self._queries, now), QuotaBucket(self._each, now))
            if len(self._askers) > _ASKERS:
                self._askers.popitem(last=False)
        else:
            self._askers.move_to_end(requester)
        return found


class Replays:
    """Questions seen before. Somebody who sends another's question again must not make us answer again."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    def is_new(self, requester: str, query_id: bytes) -> bool:
        key = (requester, query_id)
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return True
