"""Packets of the log as they were broadcast, for a Store node to serve: by id, by place, and by pages; and their
counts.

Each query is a search in an index, or a bounded walk along one, for a log of any length.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from sdschat.store.channel_table import load_tallies
from sdschat.store.columns import body_sum
from sdschat.store.dropped_packets import BYTES_EACH
from sdschat.store.errors import as_store_error
from sdschat.store.reader import Reader
from sdschat.store.retention import DiskSpace, space
from sdschat.store.retention_floor import RetentionFloor, floor_of
from sdschat.store.store import Store

_FROM: Final = "SELECT log.place, log.lamport, log.message_id, body.raw, body.sum FROM log"
_BY_ID: Final = f"{_FROM} JOIN body USING (place) WHERE log.channel = ? AND log.message_id = ?"
_AT: Final = f"{_FROM} JOIN body USING (place) WHERE log.place = ? AND log.channel = ?"
_PLACE: Final = "SELECT log.place FROM log JOIN body USING (place) WHERE log.channel = ? AND log.message_id = ?"
_WALK: Final = (
    f"{_FROM} LEFT JOIN body USING (place) WHERE log.channel = ? AND log.lamport BETWEEN ? AND ? "
    "AND (log.lamport, log.message_id) {sign} (?, ?) ORDER BY log.lamport {way}, log.message_id {way}"
)
_UP: Final = _WALK.format(sign=">", way="ASC")
_DOWN: Final = _WALK.format(sign="<", way="DESC")
_BEYOND_ALL: Final = "\U0010ffff"  # sorts after every id
_PATIENCE: Final = 4  # most rows read for each message of a page, where packets were dropped


class ArchivedMessage(NamedTuple):
    """A message with its packet. `place` is its row in the log and never changes in this database."""

    place: int
    lamport: int
    message_id: str
    raw: bytes


class ArchiveRange(NamedTuple):
    """Bounds of a page. `low` and `high` are Lamport times, both included; `after` is a key, excluded."""

    low: int
    high: int
    after: tuple[int, str] | None
    newest_first: bool
    limit: int
    max_bytes: int


class LogArchive:
    """Reads committed messages, over the connection that the node writes with."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = store.connection

    def by_id(self, channel: str, message_id: str) -> ArchivedMessage | None:
        number = self._store.number(channel)
        return None if number is None else self._one(_BY_ID, (number, message_id))

    def at(self, channel: str, place: int) -> ArchivedMessage | None:
        number = self._store.number(channel)
        return None if number is None else self._one(_AT, (place, number))

    def place_of(self, channel: str, message_id: str) -> int | None:
        """Return the place of a message in the log, or None if its packet is gone."""
        number = self._store.number(channel)
        if number is None:
            return None
        with as_store_error(self._store.path):
            rows = self._connection.execute(_PLACE, (number, message_id)).fetchall()
        return rows[0][0] if rows else None

    def page(self, channel: str, span: ArchiveRange) -> tuple[list[ArchivedMessage], bool]:
        """Return the next messages of a range, at least one if there is one, and True if more may follow."""
        number = self._store.number(channel)
        if number is None:
            return [], False
        low, high = span.low, span.high
        # SQLite enters the index by the dates alone, so they must be narrowed to the end of the last page.
        if span.newest_first:
            sql, after = _DOWN, span.after or (high, _BEYOND_ALL)
            high = min(high, after[0])
        else:
            sql, after = _UP, span.after or (low, "")
            low = max(low, after[0])
        found: list[ArchivedMessage] = []
        size = rows_read = 0
        with as_store_error(self._store.path):
            for row in self._connection.execute(sql, (number, low, high, *after)):
                rows_read += 1
                if len(found) == span.limit or (rows_read > _PATIENCE * span.limit and found):
                    return found, True
                kept = _sound(row)
                if kept is None:
                    continue
                size += len(kept.raw)
                if size > span.max_bytes and found:
                    return found, True
                found.append(kept)
        return found, False

    def _one(self, sql: str, values: tuple[int | str, ...]) -> ArchivedMessage | None:
        with as_store_error(self._store.path):
            rows = self._connection.execute(sql, values).fetchall()
        return _sound(rows[0]) if rows else None


def _sound(row: Any) -> ArchivedMessage | None:
    """Return the message of a row, or None if its packet is gone or was altered by the disk: those are never served."""
    place, lamport, message_id, raw, checksum = row
    if raw is None or body_sum(message_id, raw) != checksum:
        return None
    return ArchivedMessage(place, lamport, message_id, raw)


_NEWEST_SIZES: Final = "SELECT length(raw) FROM body ORDER BY place DESC LIMIT ?"
_OLDEST: Final = "SELECT min(lamport) FROM log WHERE channel = ? AND lamport >= ?"


class Archived(NamedTuple):
    """One channel of an archive. Times are Lamport timestamps, which are epoch milliseconds or near to them."""

    channel: str
    messages: int  # in the log
    packets: int  # messages that have their packet
    oldest: int  # of messages that have their packet; 0: none
    newest: int
    floor: RetentionFloor

    @property
    def ids_bytes(self) -> int:
        """Return about how many bytes on disk the ids without packets take."""
        return self.floor.ids * BYTES_EACH


class _Source(Protocol):
    path: Path

    def value(self, name: str) -> bytes | None: ...


def archived(source: Store | Reader) -> list[Archived]:
    """Return the counts of all channels, by name."""
    connection = source.connection
    with as_store_error(source.path):
        tallies = load_tallies(connection, source.path)
    return [
        _archived(connection, source, name, tally.number, tally.messages, tally.newest)
        for name, tally in sorted(tallies.items())
    ]


def newest_sizes(source: Store | Reader, most: int) -> list[int]:
    """Return the bytes of the packets that came last, the last one first."""
    with as_store_error(source.path):
        rows: list[Any] = source.connection.execute(_NEWEST_SIZES, (most,)).fetchall()
    return [int(row[0]) for row in rows]


def database_space(source: Store | Reader) -> DiskSpace:
    with as_store_error(source.path):
        return space(source.connection)


def _archived(
    connection: sqlite3.Connection, source: _Source, name: str, number: int, messages: int, newest: int
) -> Archived:
    floor = floor_of(source, name)
    with as_store_error(source.path):
        rows: list[Any] = connection.execute(_OLDEST, (number, floor.lamport)).fetchall()
    return Archived(name, messages, messages - floor.ids, rows[0][0] or 0, newest, floor)
