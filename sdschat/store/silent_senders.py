"""Rows of senders, and the senders of whom a message is left.

A sender costs nothing to invent. So its rows, in `standing` and beside ids without packets, go once the log has none of
its messages. The log has no index by sender: it is walked through, page by page.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sdschat.store.errors import as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.store import Store

PAGE: Final = 5_000  # messages of a channel looked at in one step
_STANDINGS: Final = (
    "SELECT rowid, sender_id, standing, since FROM standing WHERE rowid > ? AND standing IN (16, 32, 48) "
    "ORDER BY rowid LIMIT ?"
)
_OF_IDS: Final = "SELECT id, sender_id FROM past_sender WHERE id > ? ORDER BY id LIMIT ?"
_SPOKE: Final = (
    "SELECT place, sender_id FROM log WHERE place > ?1 AND place <= ?2 UNION ALL SELECT place, sender_id FROM past "
    "CROSS JOIN past_sender ON past_sender.id = past.sender WHERE place > ?1 AND place <= ?2 ORDER BY 1 LIMIT ?3"
)


_VALUES: Final = "SELECT name FROM setting WHERE name > ? AND name < ? ORDER BY name LIMIT ?"
_VALUES_COUNTED: Final = "SELECT count(*) FROM setting WHERE name > ? AND name < ?"
_LAST: Final = "\U0010ffff"  # behind all that may follow a prefix


class SenderStanding(NamedTuple):
    """The row of `standing` of a stranger, or of somebody without a key."""

    row: int
    sender_id: str
    standing: int
    since: int  # epoch milliseconds


class SenderOfIds(NamedTuple):
    """The row of a sender of messages without packets."""

    row: int
    sender_id: str


class SpeakersPage(NamedTuple):
    """The senders of some messages, and the place in the log to go on after."""

    senders: set[str]
    place: int
    full: bool  # there may be more messages


def standings_after(store: Store, row: int, most: int) -> list[SenderStanding]:
    with as_store_error(store.path):
        return [SenderStanding(*found) for found in store.connection.execute(_STANDINGS, (row, most))]


def senders_of_ids_after(store: Store, row: int, most: int) -> list[SenderOfIds]:
    with as_store_error(store.path):
        return [SenderOfIds(*found) for found in store.connection.execute(_OF_IDS, (row, most))]


def count_values(store: Store, prefix: str) -> int:
    """Return the number of values whose names begin so."""
    with as_store_error(store.path):
        return int(store.connection.execute(_VALUES_COUNTED, (prefix, prefix + _LAST)).fetchone()[0])


def values_after(store: Store, prefix: str, name: str, most: int) -> list[str]:
    """Return the names of the next values whose names begin so."""
    with as_store_error(store.path):
        rows = store.connection.execute(_VALUES, (max(prefix, name), prefix + _LAST, most))
        return [found[0] for found in rows]


def speakers_after(store: Store, number: int, place: int = 0) -> SpeakersPage:
    """Return who wrote the next messages of a channel, with and without packets."""
    after = max(place, first_place(number) - 1)
    with as_store_error(store.path):
        rows: list[Any] = store.connection.execute(_SPOKE, (after, last_place(number), PAGE)).fetchall()
    return SpeakersPage({row[1] for row in rows}, rows[-1][0] if rows else after, len(rows) == PAGE)
