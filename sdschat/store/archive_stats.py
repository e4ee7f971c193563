"""Counts of an archive, without a scan of the log."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from sdschat.store.channel_table import load_tallies
from sdschat.store.dropped_packets import BYTES_EACH
from sdschat.store.errors import as_store_error
from sdschat.store.reader import Reader
from sdschat.store.retention import DiskSpace, space
from sdschat.store.retention_floor import RetentionFloor, floor_of
from sdschat.store.store import Store

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
        """Bytes on disk of the ids without packets, about."""
        return self.floor.ids * BYTES_EACH


class _Source(Protocol):
    path: Path

    def value(self, name: str) -> bytes | None: ...


def archived(source: Store | Reader) -> list[Archived]:
    """Counts of all channels, by name."""
    connection = source.connection
    with as_store_error(source.path):
        tallies = load_tallies(connection, source.path)
    return [
        _archived(connection, source, name, tally.number, tally.messages, tally.newest)
        for name, tally in sorted(tallies.items())
    ]


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
