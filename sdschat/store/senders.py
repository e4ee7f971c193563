"""Rows of senders: the bodies and the standing of strangers who wait, and senders of whom no message is left.

A sender costs nothing to invent. So its rows, in `standing` and beside ids without packets, go once the log has none of
its messages. The log has no index by sender: it is walked through, page by page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sdschat.sds.values import WITHOUT_A_BODY, Append, Entry, LogRow
from sdschat.store.columns import LOG_COLUMNS, RowAltered, log_entry
from sdschat.store.errors import as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

_PLACES: Final = 5_000  # looked at in one step
_STRANGERS: Final = (16, 16 | 32)  # in `standing`: a stranger with a key, and one without
_LOG: Final = ", ".join(f"log.{name}" for name in LOG_COLUMNS.split(", "))
_BODIES: Final = (
    f"SELECT {_LOG}, length(body.raw) FROM log JOIN body USING (place) "
    "WHERE log.place > ? AND log.place <= ? AND log.own = 0 AND EXISTS (SELECT 1 FROM standing "
    "WHERE standing.sender_id = log.sender_id AND standing.standing IN (?, ?)) ORDER BY log.place LIMIT ?"
)
_LAST: Final = "SELECT max(place) FROM log WHERE place BETWEEN ? AND ?"
_COUNT: Final = "SELECT count(*) FROM standing WHERE standing IN (?, ?)"
_WHO: Final = "SELECT sender_id, since FROM standing WHERE standing IN (?, ?)"


class KeptBody(NamedTuple):
    """A message of a stranger that is kept in full."""

    row: LogRow  # without the packet
    size: int  # bytes of the packet

    @property
    def entry(self) -> Entry:
        return self.row.entry


class BodiesPage(NamedTuple):
    """Some messages of strangers, and the place in the log to go on after."""

    bodies: list[KeptBody]
    place: int


def log_bounds(store: Store, channel: str) -> tuple[int, int]:
    """Return the place before the first message of a channel, and the place of its last one."""
    number = store.number(channel)
    if number is None:
        return 0, 0
    first = first_place(number)
    with as_store_error(store.path):
        rows: list[Any] = store.connection.execute(_LAST, (first, last_place(number))).fetchall()
    return first - 1, rows[0][0] or first - 1


def bodies_of_strangers(store: Store, after: int, end: int, most: int) -> BodiesPage:
    """Return at most `most` messages of strangers that are kept in full, of some thousand places after `after`."""
    upto = min(end, after + _PLACES)
    with as_store_error(store.path):
        rows: list[Any] = store.connection.execute(_BODIES, (after, upto, *_STRANGERS, most)).fetchall()
    found: list[KeptBody] = []
    for *values, size in rows:
        try:
            found.append(KeptBody(LogRow(log_entry(values), b"", False, values[8], values[9]), size))
        except RowAltered:
            continue  # `verify` deletes it, and it is fetched again
    return BodiesPage(found, rows[-1][0] if len(rows) == most else upto)


def keep_as_ids(transaction: Transaction, channel: str, bodies: Iterable[KeptBody]) -> None:
    """Delete packets and texts of messages. Their ids stay in the log, and name nothing."""
    for body in bodies:
        entry = Entry(*body.entry[:3], (), WITHOUT_A_BODY)
        transaction.apply(channel, [Append(body.row._replace(entry=entry), body.entry)])


def count_strangers(store: Store) -> int:
    """Return the number of strangers that have a row of `standing`."""
    with as_store_error(store.path):
        count: int = store.connection.execute(_COUNT, _STRANGERS).fetchone()[0]
    return count


def strangers(store: Store) -> list[tuple[str, int]]:
    """Return the sender ids of all strangers that have a row of `standing`, and since when."""
    with as_store_error(store.path):
        return store.connection.execute(_WHO, _STRANGERS).fetchall()


PAGE: Final = 5_000  # messages of a channel looked at in one step
_STANDINGS: Final = (
    "SELECT rowid, sender_id, standing, since FROM standing WHERE rowid > ? AND standing IN (16, 32, 48) "
    "ORDER BY rowid LIMIT ?"
)
_OF_IDS: Final = "SELECT id, sender_id FROM past_sender WHERE id > ? ORDER BY id LIMIT ?"
_SPOKE: Final = (
    "SELECT place, sender_id FROM log WHERE place > ? AND place <= ? UNION ALL SELECT place, sender_id FROM past "
    "CROSS JOIN past_sender ON past_sender.id = past.sender WHERE place > ? AND place <= ? ORDER BY 1 LIMIT ?"
)


_VALUES: Final = "SELECT name FROM setting WHERE name > ? AND name < ? ORDER BY name LIMIT ?"
_VALUES_COUNTED: Final = "SELECT count(*) FROM setting WHERE name > ? AND name < ?"
_BEHIND_ALL: Final = "\U0010ffff"  # behind all that may follow a prefix


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
        return int(store.connection.execute(_VALUES_COUNTED, (prefix, prefix + _BEHIND_ALL)).fetchone()[0])


def values_after(store: Store, prefix: str, name: str, most: int) -> list[str]:
    """Return the names of the next values whose names begin so."""
    with as_store_error(store.path):
        rows = store.connection.execute(_VALUES, (max(prefix, name), prefix + _BEHIND_ALL, most))
        return [found[0] for found in rows]


def speakers_after(store: Store, number: int, place: int = 0) -> SpeakersPage:
    """Return who wrote the next messages of a channel, with and without packets."""
    after = max(place, first_place(number) - 1)
    with as_store_error(store.path):
        rows: list[Any] = store.connection.execute(_SPOKE, (*2 * (after, last_place(number)), PAGE)).fetchall()
    return SpeakersPage({row[1] for row in rows}, rows[-1][0] if rows else after, len(rows) == PAGE)
