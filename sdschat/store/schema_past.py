"""The third migration: a compact table for messages with dropped packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


def third(database: Database) -> None:
    """Make `past`. A row has no checksum: the channel's fingerprint is over all (Lamport, id), these included."""
    database.execute(
        "CREATE TABLE past (place INTEGER PRIMARY KEY, "
        "channel INTEGER NOT NULL REFERENCES channel (id) ON DELETE CASCADE, lamport INTEGER NOT NULL, "
        "message_id BLOB NOT NULL, sender INTEGER NOT NULL, named BLOB NOT NULL) STRICT"
    )
    database.execute("CREATE INDEX past_order ON past (channel, lamport)")
    # The first bytes of an id find it; the whole of it would take as much again as the row.
    database.execute("CREATE INDEX past_id ON past (channel, substr(message_id, 1, 8))")
    # Senders by a short number: there are few of them, and each is in many rows.
    database.execute("CREATE TABLE past_sender (id INTEGER PRIMARY KEY, sender_id TEXT NOT NULL) STRICT")
    database.execute("CREATE UNIQUE INDEX past_sender_id ON past_sender (sender_id)")
