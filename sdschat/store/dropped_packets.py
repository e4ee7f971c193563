"""Messages without packets, dropped or never kept, in a table apart from the log: about 120 bytes each with their
indexes, while a row of the log takes 550 to 900.

A row has everything that two equal logs have in common: date, id, sender, and the dependencies, each named by the
distance to its row. A message stays in the log if its id or a dependency is no SHA-256 in lower-case hex.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Final

from sdschat.sds.values import TOLD, WITHOUT_A_BODY, Entry
from sdschat.store.columns import LOG_COLUMNS, load_ids

BYTES_EACH: Final = 120  # on disk, with the indexes, about; see `test_an_id_without_its_packet_takes_at_most_160_bytes`
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_ID_BYTES: Final = 32
_TOLD: Final = b"\x01"  # in the place of dependencies, of which none is the row itself: the id was only told
_FROM: Final = (
    "SELECT place, channel, lamport, hex(message_id), sender_id, named "
    "FROM past JOIN past_sender ON past_sender.id = past.sender"
)
_ID: Final = "channel = ? AND substr(message_id, 1, 8) = substr(?, 1, 8) AND message_id = ?"
_BY_ID: Final = f"{_FROM} WHERE {_ID}"
# To find an id in the log or here by one statement: each takes the locks of a transaction, which cost more than that.
OR_DROPPED: Final = (
    "UNION ALL SELECT place, " + ", ".join(["NULL"] * (len(LOG_COLUMNS.split(",")) - 1)) + f" FROM past WHERE {_ID}"
)
_DATED: Final = "WHERE channel = ? AND lamport BETWEEN ? AND ? ORDER BY lamport {way}, message_id {way}"
_UP: Final = f"{_FROM} {_DATED.format(way='ASC')}"
_DOWN: Final = f"{_FROM} {_DATED.format(way='DESC')}"
_KEYS: Final = f"SELECT lamport, lower(hex(message_id)) FROM past {_DATED.format(way='ASC')}"
_OLDEST: Final = (
    "SELECT lamport, lower(hex(message_id)) FROM past WHERE channel = ? ORDER BY lamport, message_id LIMIT ?"
)
_OF_SENDER: Final = (
    "SELECT lamport, lower(hex(message_id)) FROM past JOIN past_sender ON past_sender.id = past.sender "
    "WHERE channel = ? AND lamport >= ? AND sender_id = ? ORDER BY lamport DESC, message_id DESC LIMIT ?"
)
_KEPT_AS_ID: Final = (
    "SELECT lamport, lower(hex(message_id)), sender_id FROM past JOIN past_sender ON past_sender.id = past.sender "
    "WHERE channel = ? AND lamport BETWEEN ? AND ? AND (lamport, lower(hex(message_id))) >= (?, ?) "
    "AND (lamport, lower(hex(message_id))) < (?, ?) AND named IN (x'', x'01') "
    "ORDER BY lamport {way}, message_id {way} LIMIT ?"
)
_KEPT_UP: Final = _KEPT_AS_ID.format(way="ASC")
_KEPT_DOWN: Final = _KEPT_AS_ID.format(way="DESC")
_OLDEST_KEPT: Final = (
    "SELECT lamport, lower(hex(message_id)) FROM past WHERE channel = ? AND lamport >= ? AND lamport < ? "
    "AND named IN (x'', x'01') ORDER BY lamport, message_id LIMIT ?"
)
_SENDER_OF: Final = (
    "SELECT lamport, sender_id FROM past JOIN past_sender ON past_sender.id = past.sender "
    f"WHERE {_ID} AND named IN (x'', x'01')"
)
_BEGINNING: Final = f"{_FROM} WHERE channel = ? AND lower(hex(message_id)) BETWEEN ? AND ? ORDER BY message_id LIMIT ?"
_ROW: Final = "SELECT channel, lamport, message_id, sender_id, dependencies FROM log WHERE place = ?"
_PLACE: Final = (
    f"SELECT place FROM past WHERE {_ID} UNION ALL SELECT place FROM log WHERE channel = ? AND message_id = ?"
)
_AT: Final = (
    "SELECT lower(hex(message_id)) FROM past WHERE place = ? UNION ALL SELECT message_id FROM log WHERE place = ?"
)
_PUT: Final = (
    "INSERT OR REPLACE INTO past (place, channel, lamport, message_id, sender, named) VALUES (?, ?, ?, ?, ?, ?)"
)


def entry(connection: sqlite3.Connection, channel: int, message_id: str) -> Entry | None:
    """Return the entry of a message with a dropped packet, or None."""
    packed = packed_id(message_id)
    rows = [] if packed is None else connection.execute(_BY_ID, (channel, packed, packed)).fetchall()
    return _entry(connection, rows[0]) if rows else None


def entries(
    connection: sqlite3.Connection, channel: int, low: int, high: int, *, newest_first: bool = False
) -> Iterator[Entry]:
    """Yield entries dated from `low` to `high`, both included, read while the caller iterates."""
    rows = connection.execute(_DOWN if newest_first else _UP, (channel, low, high))
    return (_entry(connection, row) for row in rows)


def beginning_with(connection: sqlite3.Connection, channel: int, prefix: str, limit: int) -> list[Entry]:
    """Return the entries of which the id begins so. Looks at all of them."""
    rows = connection.execute(_BEGINNING, (channel, prefix, prefix + "g", limit)).fetchall()
    return [_entry(connection, row) for row in rows]


def keys(connection: sqlite3.Connection, channel: int, low: int, high: int) -> Iterator[tuple[int, str]]:
    """Yield keys dated from `low` to `high`, both included, read while the caller iterates."""
    return iter(connection.execute(_KEYS, (channel, low, high)))


def move(connection: sqlite3.Connection, places: Iterable[int]) -> None:
    """Move rows without packets from the log to `past`."""
    senders: dict[str, int] = {}
    for place in places:
        for channel, lamport, message_id, sender_id, dependencies in connection.execute(_ROW, (place,)).fetchall():
            packed = packed_id(message_id)
            named = _named(connection, place, channel, load_ids(dependencies))
            if packed is None or named is None:
                continue
            if sender_id not in senders:
                senders[sender_id] = _sender(connection, sender_id)
            connection.execute(_PUT, (place, channel, lamport, packed, senders[sender_id], named))
            connection.execute("DELETE FROM log WHERE place = ?", (place,))


def is_short(message_id: str) -> bool:
    """True if an id has the form of this table."""
    return packed_id(message_id) is not None


def put(connection: sqlite3.Connection, rows: Iterable[tuple[int, int, Entry]]) -> None:
    """Add messages of which only the id is kept: place, number of the channel, and the entry, which names nothing."""
    senders: dict[str, int] = {}
    for place, channel, one in rows:
        if one.sender_id not in senders:
            senders[one.sender_id] = _sender(connection, one.sender_id)
        named = _TOLD if one.generation == TOLD else b""
        values = (place, channel, one.lamport, bytes.fromhex(one.message_id), senders[one.sender_id], named)
        connection.execute(_PUT, values)


def oldest(connection: sqlite3.Connection, channel: int, most: int) -> list[tuple[int, str]]:
    """Return the keys of the oldest messages, at most `most`."""
    return connection.execute(_OLDEST, (channel, most)).fetchall()


def kept_as_ids(
    connection: sqlite3.Connection,
    channel: int,
    low: tuple[int, str],
    high: tuple[int, str],
    newest_first: bool,
    limit: int,
) -> list[tuple[int, str, str]]:
    """Return the date, id and sender of messages of which never more than the id was kept, from `low` on and before
    `high`."""
    query = _KEPT_DOWN if newest_first else _KEPT_UP
    return connection.execute(query, (channel, low[0], high[0], *low, *high, limit)).fetchall()


def oldest_kept_as_ids(
    connection: sqlite3.Connection, channel: int, low: int, before: int, most: int
) -> list[tuple[int, str]]:
    """Return the keys of the oldest messages of which never more than the id was kept, dated from `low` on and before
    `before`."""
    return connection.execute(_OLDEST_KEPT, (channel, low, before, most)).fetchall()


def kept_as_id(connection: sqlite3.Connection, channel: int, message_id: str) -> tuple[int, str] | None:
    """Return the date and sender of a message of which never more than the id was kept; None for any other."""
    packed = packed_id(message_id)
    rows = [] if packed is None else connection.execute(_SENDER_OF, (channel, packed, packed)).fetchall()
    return rows[0] if rows else None


def of_sender(
    connection: sqlite3.Connection, channel: int, sender_id: str, low: int, most: int
) -> list[tuple[int, str]]:
    """Return the keys of the newest messages of a sender dated from `low` on, at most `most`."""
    return connection.execute(_OF_SENDER, (channel, low, sender_id, most)).fetchall()


def forget(connection: sqlite3.Connection, channel: int, gone: Iterable[tuple[int, str]]) -> None:
    """Delete these messages."""
    rows = [(channel, packed, packed) for packed in (bytes.fromhex(message_id) for _, message_id in gone)]
    connection.executemany(f"DELETE FROM past WHERE {_ID}", rows)


def _sender(connection: sqlite3.Connection, sender_id: str) -> int:
    rows = connection.execute("SELECT id FROM past_sender WHERE sender_id = ?", (sender_id,)).fetchall()
    if rows:
        return int(rows[0][0])
    made = connection.execute("INSERT INTO past_sender (sender_id) VALUES (?)", (sender_id,)).lastrowid
    assert made is not None
    return made


def packed_id(message_id: str) -> bytes | None:
    """Return the id as this table holds it; None if it is no SHA-256 in lower-case hex."""
    return bytes.fromhex(message_id) if _SHA256.fullmatch(message_id) else None


def _entry(connection: sqlite3.Connection, row: Any) -> Entry:
    place, _, lamport, message_id, sender_id, named = row
    how = TOLD if named == _TOLD else WITHOUT_A_BODY
    return Entry(lamport, message_id.lower(), sender_id, _ids(connection, place, named), how)


# Dependencies of a message: for each a number, twice the distance to its row, odd if that row comes later; 0 if there
# is no row, followed by the id itself. Numbers in groups of seven bits, the lowest first, as in protobuf.


def _named(connection: sqlite3.Connection, place: int, channel: int, ids: Iterable[str]) -> bytes | None:
    """Return the dependencies in compact form; None if an id is no SHA-256 in lower-case hex."""
    found = bytearray()
    for message_id in ids:
        packed = packed_id(message_id)
        if packed is None:
            return None
        rows = connection.execute(_PLACE, (channel, packed, packed, channel, message_id)).fetchall()
        distance = place - rows[0][0] if rows else 0
        number = 2 * abs(distance) + (distance < 0)
        while number > 127:
            found.append(number & 127 | 128)
            number >>= 7
        found.append(number)
        if not distance:
            found += packed
    return bytes(found)


def _ids(connection: sqlite3.Connection, place: int, named: bytes) -> tuple[str, ...]:
    """Return the dependencies from their compact form. Those with rows that were deleted since are left out."""
    found: list[str] = []
    at = len(named) if named == _TOLD else 0
    while at < len(named):
        number = shift = 0
        while named[at] > 127:
            number |= (named[at] & 127) << shift
            at, shift = at + 1, shift + 7
        number |= named[at] << shift
        at += 1
        if not number:
            found.append(named[at : at + _ID_BYTES].hex())
            at += _ID_BYTES
            continue
        other = place - (-(number >> 1) if number & 1 else number >> 1)
        found += [message_id for (message_id,) in connection.execute(_AT, (other, other)).fetchmany(1)]
    return tuple(found)
