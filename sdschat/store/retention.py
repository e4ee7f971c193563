"""Deletion of old packets, oldest first. Their ids are kept, in a compact table (see `dropped_packets`).

An id takes a fraction of the space of its packet, and has to stay: a log without it would differ from those of all
other participants, and the dropped message would count as missing and be fetched again. If ids alone take too much
space, the oldest of them are deleted too; the log then begins later, as for a participant that joined at that time.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final, NamedTuple

from sdschat.store import dropped_packets
from sdschat.store.connection import WAL_PAGES
from sdschat.store.errors import as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.retention_floor import RetentionFloor, floor_of, keep_floor
from sdschat.store.schema import PLACE_BITS
from sdschat.store.store import Store

_NEXT: Final = (
    "SELECT lamport FROM log WHERE channel = ? AND lamport >= ? ORDER BY lamport, message_id LIMIT 1 OFFSET ?"
)
_NEWEST: Final = "SELECT max(lamport) FROM log WHERE channel = ?"
_STALE: Final = (
    "SELECT place FROM body WHERE place IN "
    "(SELECT place FROM log WHERE channel = ? AND lamport >= ? AND lamport < ? AND own = 0)"
)
_TEXT: Final = "SELECT text FROM text WHERE place = ?"
_UNSEARCH: Final = "INSERT INTO search (search, rowid, text) VALUES ('delete', ?, ?)"
_DELETES: Final = ("DELETE FROM text WHERE place = ?", "DELETE FROM body WHERE place = ?")
_LAST: Final = "SELECT max(place) FROM log WHERE place BETWEEN ? AND ?"
_BARE: Final = (
    "SELECT log.place FROM log LEFT JOIN body USING (place) WHERE log.channel = ? AND log.lamport < ? AND log.own = 0 "
    "AND body.place IS NULL AND length(log.message_id) = 64 ORDER BY log.lamport LIMIT ?"
)
_LATE: Final = "SELECT place FROM log WHERE channel = ? AND message_id = ? AND lamport < ? AND own = 0"

_WAL_SHARE: Final = 16  # of the size of a database
_WAL_LEAST: Final = 64  # pages


def drop_oldest(
    store: Store, channel: str, before: int, most: int, now: int, late: tuple[str, ...] = ()
) -> RetentionFloor:
    """Drop about `most` packets dated before `before`, the oldest first, in one transaction.

    `late` are messages that came since and are dated below the floor, where this does not search. Own messages stay,
    because perhaps no other participant has them.
    """
    floor = floor_of(store, channel)
    beyond = _dated(store, channel, floor.lamport, most)
    if beyond is None:  # all messages of now, but none that is still to come
        beyond = _newest(store, channel) + 1
    bound = max(floor.lamport, min(before, beyond))
    if beyond == floor.lamport:  # more than `most` messages have the same date
        bound = min(before, floor.lamport + 1)
    if bound == floor.lamport and not late:
        return floor
    dropped = floor

    def step(connection: sqlite3.Connection, number: int) -> None:
        nonlocal dropped
        rows: list[Any] = connection.execute(_STALE, (number, floor.lamport, bound)).fetchall()
        places = {place for (place,) in rows}
        for message_id in late:
            places.update(place for (place,) in connection.execute(_LATE, (number, message_id, bound)).fetchall())
        _delete(connection, places)
        dropped = floor._replace(lamport=bound, packets=floor.packets + len(places), at=now)

    with store.transaction() as transaction:
        transaction.also(channel, step)
        # The number of packets is known only once they are gone, within the same transaction.
        transaction.also(channel, lambda connection, _: keep_floor(connection, channel, dropped))
    return dropped


def _delete(connection: sqlite3.Connection, places: set[int]) -> None:
    for place in places:
        for (text,) in connection.execute(_TEXT, (place,)).fetchall():
            connection.execute(_UNSEARCH, (place, text))
    for sql in _DELETES:
        connection.executemany(sql, [(place,) for place in places])
    # Places are not used again: the last row of a channel stays in the log, since the next place follows from it.
    if places:
        number = min(places) >> PLACE_BITS
        last = connection.execute(_LAST, (first_place(number), last_place(number))).fetchone()[0]
        dropped_packets.move(connection, sorted(places - {last}))


def make_compact(store: Store, channel: str, most: int) -> int:
    """Make ids compact whose packets an earlier version dropped, at most `most` at a time. Return their number."""
    floor = floor_of(store, channel)
    number = store.number(channel)
    with as_store_error(store.path):
        rows = store.connection.execute(_BARE, (number, floor.lamport, most)).fetchall()
    places = {place for (place,) in rows}
    if places:
        with store.transaction() as transaction:
            transaction.also(channel, lambda connection, _: _delete(connection, places))
    return len(places)


def forget_oldest(store: Store, channel: str, most: int, now: int) -> RetentionFloor:
    """Delete about `most` ids without packets, the oldest first, with all that have the date of the last one."""
    number = store.number(channel)
    assert number is not None
    with as_store_error(store.path):
        keys = dropped_packets.oldest(store.connection, number, most)
        if keys:
            keys = sorted({*keys, *dropped_packets.keys(store.connection, number, keys[-1][0], keys[-1][0])})
    return _forget(store, channel, keys, now, begins=keys[-1][0] + 1 if keys else 0)


def forget_kept_as_ids(store: Store, channel: str, before: int, most: int, now: int) -> RetentionFloor:
    """Delete at most `most` ids dated before `before` of which the messages were never kept, the oldest first. The log
    begins where it did."""
    floor, number = floor_of(store, channel), store.number(channel)
    assert number is not None
    with as_store_error(store.path):
        keys = dropped_packets.oldest_kept_as_ids(store.connection, number, floor.lamport, before, most)
    return _forget(store, channel, keys, now, begins=0)


def _forget(store: Store, channel: str, keys: list[tuple[int, str]], now: int, begins: int) -> RetentionFloor:
    """Delete these ids without packets. `begins`: the log is compared with others only from this date on."""
    floor = floor_of(store, channel)
    if not keys:
        return floor
    number = store.number(channel)
    assert number is not None
    new = floor._replace(at=now, ids_from=max(floor.ids_from, begins), ids_gone=floor.ids_gone + len(keys))

    def step(connection: sqlite3.Connection, number: int) -> None:
        dropped_packets.forget(connection, number, keys)
        store.ranges.forget(connection, number, keys)
        keep_floor(connection, channel, new)

    store.ranges.load(number)
    with store.transaction() as transaction:
        transaction.also(channel, step)
        transaction.take_out(channel, keys)
    return new


def _dated(store: Store, channel: str, low: int, offset: int) -> int | None:
    number = store.number(channel)
    if number is None:
        return None
    with as_store_error(store.path):
        rows: list[Any] = store.connection.execute(_NEXT, (number, low, offset)).fetchall()
    return rows[0][0] if rows else None


def _newest(store: Store, channel: str) -> int:
    newest: int | None = store.rows(channel, _NEWEST)[0][0]
    return newest or 0


class DiskSpace(NamedTuple):
    """Size of the database file, in bytes."""

    file: int
    free: int  # in empty pages, which will be used again
    shrinks: bool  # True if empty pages can be given back to the file system while the node runs

    @property
    def used(self) -> int:
        return self.file - self.free


def space(connection: sqlite3.Connection) -> DiskSpace:
    names = ("page_count", "freelist_count", "page_size", "auto_vacuum")
    pages, free, size, vacuum = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return DiskSpace(pages * size, free * size, vacuum == 2)


def bound_wal(store: Store, size: int) -> int:
    """Keep the write-ahead log of a small database small. Return the bytes that it may take about."""
    page: int = store.connection.execute("PRAGMA page_size").fetchone()[0]
    pages = max(_WAL_LEAST, min(WAL_PAGES, size // _WAL_SHARE // page)) if size else WAL_PAGES
    with as_store_error(store.path):
        store.connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
        store.connection.execute(f"PRAGMA journal_size_limit = {2 * pages * page}")
    return pages * page


def give_back(store: Store, pages: int) -> int:
    """Give at most `pages` empty pages back to the file system. Return the bytes by which the file shrank."""
    before = space(store.connection).file
    with as_store_error(store.path):
        store.connection.execute(f"PRAGMA incremental_vacuum({int(pages)})").fetchall()
    return before - space(store.connection).file


def merge_search(store: Store, pages: int) -> bool:
    """Merge about so many pages of the search index, which still has the words of deleted texts. Return True if there
    may be more."""
    before = store.connection.total_changes
    with as_store_error(store.path):
        store.connection.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", (-pages,))
    return store.connection.total_changes - before > 1  # as FTS5 defines it


def compact(store: Store) -> None:
    """Write the whole database anew, without empty pages. Nothing else can use it meanwhile."""
    with as_store_error(store.path):
        store.connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        store.connection.execute("VACUUM")
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
