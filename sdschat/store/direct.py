"""Direct messages as a person sees them: text, author, reader and state of delivery."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from sdschat.store.columns import row_sum
from sdschat.store.display_rows import COLUMNS, READ, DirectRow, sound_row
from sdschat.store.errors import as_store_error
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

# A message keeps its place when its state changes: places are the order in which messages came.
_PUT: Final = (
    f"INSERT INTO direct ({COLUMNS}, sum) VALUES ({', '.join('?' * 13)}) "
    f"ON CONFLICT (channel, message_id) DO UPDATE SET sum = excluded.sum, "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS.split(", ")[2:])
)
_NEWEST: Final = f"SELECT {READ} FROM direct WHERE channel = ? ORDER BY place DESC LIMIT ?"
_WITH: Final = f"SELECT {READ} FROM direct WHERE peer = ? ORDER BY place DESC LIMIT ?"
_WRITTEN_TO: Final = "SELECT DISTINCT peer FROM direct WHERE channel = ? AND own = 1"
_ELSEWHERE: Final = (
    "SELECT name FROM direct JOIN channel ON channel.id = direct.channel WHERE peer = ? AND message_id = ? AND own = 1"
)
_OPEN: Final = "SELECT COUNT(*) FROM direct WHERE channel = ? AND own = 1 AND state = 0"
_ONE: Final = f"SELECT {READ} FROM direct WHERE channel = ? AND message_id = ?"


def newest_with(store: Store, peer: str, limit: int) -> list[DirectRow]:
    """Return the last messages with a participant, in whatever channel, in the order in which they came. Rows altered
    by the disk are left out."""
    with as_store_error(store.path):
        found = store.connection.execute(_WITH, (peer, limit)).fetchall()
    return _sound(found)


def channel_of(store: Store, peer: str, message_id: str) -> str:
    """Return the channel by which a message of ours to a participant goes; empty if there is no such message."""
    with as_store_error(store.path):
        found = store.connection.execute(_ELSEWHERE, (peer, message_id)).fetchone()
    return "" if found is None else str(found[0])


def unacknowledged(store: Store, channel: str) -> int:
    """Return the number of our direct messages by a channel that their readers have not acknowledged."""
    return int(store.rows(channel, _OPEN)[0][0])


def _sound(newest_first: list[Any]) -> list[DirectRow]:
    return [row for values in reversed(newest_first) if (row := sound_row(values)) is not None]


class DirectMessages:
    """The direct messages of one channel."""

    def __init__(self, store: Store, channel: str) -> None:
        self._store = store
        self._channel = channel

    def put(self, transaction: Transaction, row: DirectRow) -> None:
        def write(connection: sqlite3.Connection, number: int) -> None:
            values = (number, *(int(value) if isinstance(value, bool) else value for value in row[:-1]))
            connection.execute(_PUT, (*values, row_sum(values)))

        transaction.also(self._channel, write)

    def newest(self, limit: int = 100) -> list[DirectRow]:
        """Return the last messages with everybody; oldest first. Rows altered by the disk are left out."""
        return _sound(self._store.rows(self._channel, _NEWEST, limit))

    def one(self, message_id: str) -> DirectRow | None:
        found = self._store.rows(self._channel, _ONE, message_id)
        return sound_row(found[0]) if found else None

    def written_to(self) -> set[str]:
        """Return all participants to whom we wrote."""
        return {peer for (peer,) in self._store.rows(self._channel, _WRITTEN_TO)}
