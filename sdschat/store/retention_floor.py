"""The date from which on a channel's packets are kept. Older packets were dropped, and are not missing."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, NamedTuple, Protocol

from sdschat.store.columns import row_sum


class RetentionFloor(NamedTuple):
    """Retention of one channel: packets of others dated before `lamport` are dropped."""

    lamport: int = 0
    packets: int = 0  # packets dropped so far
    at: int = 0  # epoch milliseconds of the last drop
    ids_from: int = 0  # Lamport time from which on ids are kept; the log begins here
    ids_gone: int = 0  # ids dropped so far, at most `packets`

    @property
    def ids(self) -> int:
        """Return the number of ids without a packet."""
        return self.packets - self.ids_gone


class FloorValues(Protocol):
    """A `Store` or a `Reader`."""

    def value(self, name: str) -> bytes | None: ...


def floor_name(channel: str) -> str:
    return f"floor/{channel}"


def floor_of(values: FloorValues, channel: str) -> RetentionFloor:
    kept = values.value(floor_name(channel))
    return RetentionFloor() if kept is None else RetentionFloor(*json.loads(kept))


def keep_floor(connection: sqlite3.Connection, channel: str, floor: RetentionFloor) -> None:
    """Save a floor inside a transaction."""
    values = (floor_name(channel), json.dumps(floor, separators=(",", ":")).encode())
    connection.execute("INSERT OR REPLACE INTO setting (name, value, sum) VALUES (?, ?, ?)", (*values, row_sum(values)))


def count_ids(connection: sqlite3.Connection, channel: str, ids: int) -> None:
    """Count messages of which only the ids were kept with those whose packets were dropped, inside a transaction."""
    rows: list[Any] = connection.execute("SELECT value FROM setting WHERE name = ?", (floor_name(channel),)).fetchall()
    floor = RetentionFloor(*json.loads(rows[0][0])) if rows else RetentionFloor()
    keep_floor(connection, channel, floor._replace(packets=floor.packets + ids))
