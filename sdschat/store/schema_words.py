"""The migration that names columns by the words of the protocol. Checksums are over values, and stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlite_utils import Database

_COLUMNS: Final = (
    ("peer", "told", "reported"),
    ("missing", "blamed", "charged_to"),
    ("gap", "blamed", "charged_to"),
    ("gap", "why", "reason"),
)


def renamed_columns(database: Database) -> None:
    """Rename the columns that have a private word as their name."""
    for table, before, after in _COLUMNS:
        database.execute(f"ALTER TABLE {table} RENAME COLUMN {before} TO {after}")
