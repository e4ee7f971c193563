"""The engine's `History` over the log in SQLite: each query is one search in an index, for a log of any length."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Final

from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import Entry, LogRow
from sdschat.store import dropped_packets
from sdschat.store.columns import LOG_COLUMNS, RowAltered, body_sum, log_entry
from sdschat.store.errors import StoreDamaged, as_store_error
from sdschat.store.schema import PLACE_BITS

_FROM: Final = f"SELECT {LOG_COLUMNS} FROM log"
_BY_ID: Final = f"{_FROM} WHERE channel = ? AND message_id = ?"
_BY_ID_OR_DROPPED: Final = f"{_BY_ID} {dropped_packets.OR_DROPPED}"
_NEWEST: Final = f"{_FROM} WHERE channel = ? ORDER BY lamport DESC, message_id DESC LIMIT ?"
_BEFORE: Final = f"{_FROM} WHERE channel = ? AND lamport < ? ORDER BY lamport DESC, message_id DESC LIMIT ?"
_BETWEEN: Final = f"{_FROM} WHERE channel = ? AND lamport BETWEEN ? AND ? ORDER BY lamport, message_id LIMIT ?"
_ADDED: Final = f"{_FROM} WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT ?"
_BODY: Final = "SELECT raw, sum FROM body WHERE place = ?"


def first_place(channel: int) -> int:
    return channel << PLACE_BITS


def last_place(channel: int) -> int:
    return ((channel + 1) << PLACE_BITS) - 1


class SqlHistory:
    """The log of one channel for its engine. Rows altered by the disk are never returned."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, channel: str, number: Callable[[str], int | None]
    ) -> None:
        self._connection = connection
        self._path = path
        self._channel = channel
        self._number = number
        self.lost: dict[str, None] = {}  # messages whose packet was found altered: to be fetched again

    def entry(self, message_id: str) -> Entry | None:
        number = self._number(self._channel)
        if number is None:
            return None
        packed = dropped_packets.packed_id(message_id)
        found = self._ask(_BY_ID_OR_DROPPED, (number, message_id, number, packed, packed))
        if not found:
            return None
        if found[0][3] is not None:
            return self._entry(found[0])
        with as_store_error(self._path):
            return dropped_packets.entry(self._connection, number, message_id)

    def row(self, message_id: str) -> LogRow | None:
        """Return a message with its packet; None if the packet is gone or was altered: others have it."""
        number = self._number(self._channel)
        found = [] if number is None else self._ask(_BY_ID, (number, message_id))
        if not found:
            return None
        entry, values = self._entry(found[0]), found[0]
        body = self._ask(_BODY, (values[0],))
        if not body or body_sum(message_id, body[0][0]) != body[0][1]:
            if body or values[7]:  # packets of others may have been dropped because they were too old
                self.lost[message_id] = None
            return None
        return LogRow(entry, body[0][0], bool(values[7]), values[8], values[9])

    def newest(self, count: int) -> list[Entry]:
        number = self._number(self._channel)
        if number is None:
            return []
        return self._last_of(number, self._ask(_NEWEST, (number, count)), MAX_LAMPORT, count)

    def before(self, lamport: int, count: int) -> list[Entry]:
        number = self._number(self._channel)
        if number is None:
            return []
        return self._last_of(number, self._ask(_BEFORE, (number, lamport, count)), lamport - 1, count)

    def between(self, low: int, high: int, limit: int) -> list[Entry]:
        number = self._number(self._channel)
        if number is None:
            return []
        kept = self._in_order(self._ask(_BETWEEN, (number, low, high, limit)))
        with as_store_error(self._path):
            dropped = list(islice(dropped_packets.entries(self._connection, number, low, high), limit))
        return sorted([*kept, *dropped])[:limit] if dropped else kept

    def _last_of(self, number: int, rows: list[Any], high: int, count: int) -> list[Entry]:
        """Return the last `count` entries up to a date, from `rows` of the log, newest first, and from dropped packets,
        which are read only as far as the log does not reach back."""
        kept = self._in_order(rows[::-1])
        low = kept[0].lamport if len(kept) == count else 0
        with as_store_error(self._path):
            found = dropped_packets.entries(self._connection, number, low, high, newest_first=True)
            dropped = list(islice(found, count))
        return sorted([*kept, *dropped])[-count:] if dropped else kept

    def recently_added(self, count: int) -> list[Entry]:
        number = self._number(self._channel)
        if number is None:
            return []
        return [self._entry(row) for row in self._ask(_ADDED, (first_place(number), last_place(number), count))[::-1]]

    def _ask(self, query: str, values: tuple[int | str | bytes | None, ...]) -> list[Any]:
        try:
            return self._connection.execute(query, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError):
            with as_store_error(self._path):
                raise

    def _entry(self, values: Any) -> Entry:
        try:
            return log_entry(values)
        except RowAltered as error:
            raise self._damaged(str(error)) from error

    def _in_order(self, rows: list[Any]) -> list[Entry]:
        """Return the entries of rows. Raises `StoreDamaged` if they are out of order, as those of an altered index
        are."""
        entries = [self._entry(row) for row in rows]
        for at in range(1, len(entries)):
            if entries[at - 1] >= entries[at]:
                raise self._damaged("the log is out of order")
        return entries

    def _damaged(self, what: str) -> StoreDamaged:
        return StoreDamaged(self._path, f"channel {self._channel}: {what}")
