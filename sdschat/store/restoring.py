"""A packet of the log back in its place, after the disk had altered it."""

from __future__ import annotations

import sqlite3
from typing import Final

from sdschat.store.checksums import body_sum
from sdschat.store.transaction import Transaction

_RESTORE: Final = (
    "INSERT OR REPLACE INTO body (place, raw, sum) SELECT place, ?, ? FROM log WHERE channel = ? AND message_id = ?"
)


def restore_packet(transaction: Transaction, channel: str, message_id: str, raw: bytes) -> None:
    """Whoever calls this has seen that these are the bytes of that message."""

    def step(connection: sqlite3.Connection, number: int) -> None:
        connection.execute(_RESTORE, (raw, body_sum(message_id, raw), number, message_id))

    transaction.also(channel, step)
