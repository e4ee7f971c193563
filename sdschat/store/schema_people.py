"""The fifth migration: a table for the standing of participants."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from sdschat.store.checksums import row_sum

if TYPE_CHECKING:
    from sqlite_utils import Database

_PERSON: Final = 1
_ID_DIGITS: Final = 32


def fifth(database: Database) -> None:
    """Make `standing`. Every key that was met before stays known as a person."""
    columns = {"sender_id": str, "standing": int, "since": int, "sum": int}
    database.table("standing").create(columns, pk="sender_id", not_null=list(columns)[1:], strict=True)
    rows = [
        (sha256(public_key).hexdigest()[:_ID_DIGITS], _PERSON, since)
        for public_key, since in database.execute("SELECT public_key, first_seen FROM key_met").fetchall()
    ]
    database.conn.executemany(
        "INSERT INTO standing (sender_id, standing, since, sum) VALUES (?, ?, ?, ?)",
        [(*row, row_sum(row)) for row in rows],
    )
