"""Sums over ranges of each log, saved in the transaction that changes the log (see `sdschat.catchup.index`).

A channel's buckets are read when they are first needed. They are made anew, with one walk through the log, if they do
not add up to its messages: after the migration that added them, or after the disk altered a row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from sdschat.catchup.index import BucketDraft, IndexBucket, RangeIndex, Read, split
from sdschat.catchup.values import LOWEST, LogKey, RangeSummary
from sdschat.store import dropped_packets
from sdschat.store.columns import row_sum
from sdschat.store.errors import as_store_error

_SELECT: Final = "SELECT channel, start, count, total, sum FROM range_bucket WHERE channel = ?"
_PUT: Final = (
    "INSERT INTO range_bucket (channel, start, count, total, sum) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (channel, start) DO UPDATE SET count = excluded.count, total = excluded.total, sum = excluded.sum"
)
_DROP: Final = "DELETE FROM range_bucket WHERE channel = ? AND start = ?"
# SQLite enters the index by the dates alone, hence both conditions.
_KEYS: Final = (
    "SELECT lamport, message_id FROM log WHERE channel = ? AND lamport BETWEEN ? AND ? "
    "AND (lamport, message_id) >= (?, ?) AND (lamport, message_id) < (?, ?) ORDER BY lamport, message_id LIMIT ?"
)
_ALL: Final = (
    "SELECT lamport, message_id FROM log WHERE channel = :channel UNION ALL "
    "SELECT lamport, lower(hex(message_id)) FROM past WHERE channel = :channel ORDER BY 1, 2"
)
_COUNT: Final = "SELECT messages FROM channel WHERE id = ?"
_DIGITS: Final = 16
_TOTAL_BYTES: Final = 32
_BATCH: Final = 8192  # messages read at a time when the index is made anew


class Ranges:
    """The indexes of all channels of a database. Call `begin`, `write`, and then `committed`, or `begin` again."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._indexes: dict[int, RangeIndex] = {}  # as committed, by channel number
        self._drafts: dict[int, BucketDraft] = {}  # changes of the transaction under way, by channel number

    def load(self, channel: int) -> RangeIndex:
        """Return the index of a channel: as saved, or made anew and saved."""
        index = self._indexes.get(channel)
        if index is None:
            index = self._indexes[channel] = self._saved(channel) or self._made_anew(channel)
        return index

    def begin(self, channels: Iterable[int]) -> None:
        """Load the indexes that a transaction changes, before it writes anything."""
        self._drafts = {}
        for channel in channels:
            self.load(channel)

    def write(
        self,
        connection: sqlite3.Connection,
        added: Mapping[int, Sequence[tuple[int, str]]],
        removed: Mapping[int, Sequence[tuple[int, str]]],
    ) -> None:
        """Add messages, inside a transaction, after `begin` and after the log has them. `removed`: those that are
        added again with their bodies."""
        for channel, keys in added.items():
            draft = self._indexes[channel].draft(keys, removed.get(channel, ()), _reader(connection, channel))
            connection.executemany(_DROP, [(channel, _text(start)) for start in draft.gone])
            connection.executemany(_PUT, [_values(channel, *row) for row in draft.put.items()])
            self._drafts[channel] = draft

    def forget(self, connection: sqlite3.Connection, channel: int, keys: Sequence[tuple[int, str]]) -> None:
        """Remove messages, inside a transaction, after `begin` and after they were deleted."""
        draft = self.load(channel).draft((), keys, _reader(connection, channel))
        connection.executemany(_DROP, [(channel, _text(start)) for start in draft.gone])
        connection.executemany(_PUT, [_values(channel, *row) for row in draft.put.items()])
        self._drafts[channel] = draft

    def committed(self) -> None:
        """Take over the changes of the transaction."""
        for channel, draft in self._drafts.items():
            self._indexes[channel].apply(draft)
        self._drafts = {}

    def _saved(self, channel: int) -> RangeIndex | None:
        found: list[IndexBucket] = []
        for row in self._connection.execute(_SELECT, (channel,)).fetchall():
            if row_sum(row[:-1]) != row[-1]:
                return None
            found.append(IndexBucket(_key(row[1]), RangeSummary(row[2], int.from_bytes(row[3], "big"))))
        if not found or min(found).start != LOWEST:
            return None
        index = RangeIndex(found)
        messages = self._connection.execute(_COUNT, (channel,)).fetchone()
        return index if messages is not None and index.whole().messages == messages[0] else None

    def _made_anew(self, channel: int) -> RangeIndex:
        found: list[IndexBucket] = []
        cursor = self._connection.execute(_ALL, {"channel": channel})
        start = LOWEST
        while keys := list(islice(cursor, _BATCH)):
            if found:
                start = LogKey(*keys[0])
            found += split(start, keys)
        index = RangeIndex(found)
        rows = [_values(channel, *row) for row in zip(index.starts, index.summaries, strict=True)]
        with self._in_transaction():
            self._connection.execute("DELETE FROM range_bucket WHERE channel = ?", (channel,))
            if self._connection.execute(_COUNT, (channel,)).fetchone() is not None:
                self._connection.executemany(_PUT, rows)
        return index

    @contextmanager
    def _in_transaction(self) -> Iterator[None]:
        """Use the transaction that is under way, or one of its own."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


class StoredLog:
    """One channel's log for `sdschat.catchup`, with committed messages only."""

    def __init__(self, connection: sqlite3.Connection, path: Path, ranges: Ranges, channel: int | None) -> None:
        self._path = path
        self._ranges = ranges
        self._channel = channel
        self._read = _reader(connection, -1 if channel is None else channel)

    def summary(self, low: LogKey, high: LogKey) -> RangeSummary:
        with as_store_error(self._path):
            return self._index().summary(low, high, self._read)

    def keys(self, low: LogKey, high: LogKey, limit: int) -> Sequence[tuple[int, str]]:
        with as_store_error(self._path):
            return self._read(low, high, limit)

    def cut(self, low: LogKey, high: LogKey, parts: int) -> list[LogKey]:
        with as_store_error(self._path):
            return self._index().cut(low, high, parts, self._read)

    def _index(self) -> RangeIndex:
        return RangeIndex() if self._channel is None else self._ranges.load(self._channel)


def _reader(connection: sqlite3.Connection, channel: int) -> Read:
    def read(low: LogKey, high: LogKey, limit: int) -> list[tuple[int, str]]:
        values = (channel, low.lamport, high.lamport, *low, *high, limit)
        rows: list[Any] = connection.execute(_KEYS, values).fetchall()
        dated = dropped_packets.keys(connection, channel, low.lamport, high.lamport)
        dropped = list(islice((key for key in dated if low <= key < high), None if limit < 0 else limit))
        if not dropped:
            return rows
        every = sorted([*rows, *dropped])
        return every if limit < 0 else every[:limit]

    return read


def _values(channel: int, start: LogKey, summary: RangeSummary) -> tuple[int | str | bytes, ...]:
    values = (channel, _text(start), summary.messages, summary.total.to_bytes(_TOTAL_BYTES, "big"))
    return (*values, row_sum(values))


def _text(start: LogKey) -> str:
    """Return a bound as text: the date in hexadecimal digits, then the id or a part of one."""
    return f"{start.lamport:0{_DIGITS}x}{start.message_id}"


def _key(text: str) -> LogKey:
    return LogKey(int(text[:_DIGITS], 16), text[_DIGITS:])
