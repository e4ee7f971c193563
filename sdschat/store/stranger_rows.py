"""Rows of strangers who wait: the bodies of their messages, and their standing."""

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
