"""Reading of a damaged database, row by row: an unreadable page costs only its own rows.

Rows that do not match their checksum are not used. The file itself is not changed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

from sdschat.sds.values import ChannelRow, Codec, Message, OutgoingRow, Table
from sdschat.store.columns import LOG_COLUMNS, SHAPES, RowAltered, body_sum, log_entry, row_sum
from sdschat.store.connection import open_reader
from sdschat.store.errors import StoreDamaged
from sdschat.store.files import ProfileLock, beside
from sdschat.store.history import first_place, last_place

_ONE_BY_ONE: Final = 64  # rows that are tried singly after one that cannot be read; then steps double
_LAST_ROW: Final = 2**62
_MOST_LOST: Final = 100  # times what is left of a file; a larger size in its head is damage too
_MORE_CHANNELS: Final = 8  # channel numbers tried beyond the highest known one
_BATCH: Final = 200
_LOG: Final = f"SELECT {LOG_COLUMNS} FROM log WHERE place = ?"
_STATE: Final = "channel, {names}, sum".format(names=", ".join(ChannelRow._fields))


class SalvagedPacket(NamedTuple):
    """An intact packet, with `via` and `received_at` of its row of the log, or default values if that was altered."""

    message: Message
    raw: bytes
    via: str
    received_at: int


def _whole_size(path: Path) -> int:
    """Return the size of a database file before its end was lost, as its head has it; 0 if its end is there."""
    with path.open("rb") as file:
        head = file.read(32)
    size, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
    whole, there = pages * (65_536 if size == 1 else size), path.stat().st_size
    return whole if head.startswith(b"SQLite format 3\0") and there < whole <= _MOST_LOST * there else 0


class Wreck:
    """A damaged database, locked so that no node uses it meanwhile. Raises the errors of opening."""

    def __init__(self, path: Path, codec: Codec) -> None:
        self._codec = codec
        self._lock = ProfileLock(path)
        self._copies = contextlib.ExitStack()
        try:
            try:
                self._connection = open_reader(path)
            except StoreDamaged:
                whole = _whole_size(path)
                if not whole:
                    raise
                self._connection = open_reader(self._lengthened(path, whole))
        except BaseException:
            self._copies.close()
            self._lock.release()
            raise
        self.unreadable = 0  # packets that were altered

    def _lengthened(self, path: Path, whole: int) -> Path:
        """Return a copy of a file whose end is missing, with empty pages in its place: SQLite opens no shorter one."""
        copy = Path(self._copies.enter_context(tempfile.TemporaryDirectory(dir=path.parent))) / path.name
        for suffix in ("", "-wal"):
            if beside(path, suffix).exists():
                shutil.copyfile(beside(path, suffix), beside(copy, suffix))
        os.truncate(copy, whole)
        return copy

    def packets(self) -> Iterator[SalvagedPacket]:
        """Yield the intact packets, in the order in which they were saved."""
        # A place has the channel's number in its upper part; all known numbers are tried, and some more.
        known = [row[0] for row in self._rows("channel", "id")]
        for number in range(1, max(known, default=0) + _MORE_CHANNELS):
            for row in self._rows("body", "place, raw, sum", first_place(number), last_place(number)):
                yield from self._packet(*row)

    def _packet(self, place: int, raw: object, checksum: int) -> Iterator[SalvagedPacket]:
        message = self._codec.decode(raw) if isinstance(raw, bytes) else None
        if isinstance(raw, bytes) and isinstance(message, Message) and body_sum(message.message_id, raw) == checksum:
            yield SalvagedPacket(message, raw, *self._log_values(place, message))
        else:
            self.unreadable += 1

    def _log_values(self, place: int, message: Message) -> tuple[str, int]:
        try:
            row = self._connection.execute(_LOG, (place,)).fetchone()
            if row is not None and log_entry(row).message_id == message.message_id:
                return str(row[8]), int(row[9])
        except (sqlite3.Error, RowAltered, UnicodeDecodeError):
            pass
        return "live", message.lamport_timestamp or 0

    def fates(self) -> dict[str, OutgoingRow]:
        """Return the rows of the outgoing buffer, by message id."""
        shape = SHAPES[Table.OUTGOING]
        found: dict[str, OutgoingRow] = {}
        for row in self._sound("outgoing", f"channel, {', '.join(shape.columns)}, sum"):
            try:
                fate = shape.from_sql(row[1:-1], self._codec)
            except (RowAltered, ValueError):
                continue
            if isinstance(fate, OutgoingRow):
                found[fate.message_id] = fate
        return found

    def states(self) -> dict[str, ChannelRow]:
        """Return the state of each channel, by the channel's name."""
        names = {row[0]: row[1] for row in self._sound("channel", "id, name, messages, newest, fingerprint, sum")}
        return {
            names[row[0]]: ChannelRow(*row[1:-1]) for row in self._sound("channel_state", _STATE) if row[0] in names
        }

    def people(self) -> Iterator[tuple[bytes, str, int]]:
        for row in self._sound("key_met", "public_key, nick, first_seen, sum"):
            yield row[0], row[1], row[2]

    def nicks(self) -> Iterator[tuple[str, str, bytes, int]]:
        for row in self._sound("nick_held", "skeleton, nick, public_key, since, sum"):
            yield row[0], row[1], row[2], row[3]

    def standings(self) -> Iterator[tuple[str, int, int]]:
        for row in self._sound("standing", "sender_id, standing, since, sum"):
            yield row[0], row[1], row[2]

    def values(self) -> Iterator[tuple[str, bytes]]:
        """Yield values of `Transaction.set_value`, by name."""
        for row in self._sound("setting", "name, value, sum"):
            yield row[0], row[1]

    def _sound(self, table: str, columns: str) -> Iterator[Any]:
        return (row for row in self._rows(table, columns) if row_sum(row[:-1]) == row[-1])

    def _rows(self, table: str, columns: str, at: int = 1, last: int = _LAST_ROW) -> Iterator[Any]:
        """Yield every readable row, by its number. Unreadable rows are skipped, in steps that grow."""
        query = f"SELECT rowid, {columns} FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?"
        step = 0
        while at <= last:
            try:
                rows = self._connection.execute(query, (at, last, 1 if step else _BATCH)).fetchall()
            except (sqlite3.DatabaseError, UnicodeDecodeError):
                if not step:
                    step = 1  # once more, row by row
                    continue
                at += step
                step = step + 1 if step < _ONE_BY_ONE else step * 2
                continue
            if not rows:
                return
            yield from (row[1:] for row in rows)
            at = rows[-1][0] + 1
            step = 1 if step else 0

    def close(self) -> None:
        self._connection.close()
        self._copies.close()
        self._lock.release()

    def __enter__(self) -> Wreck:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
