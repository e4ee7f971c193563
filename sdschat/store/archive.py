"""Packets out of the log as they were broadcast, for a Store node to hand on: by id, by place, and by pages.

Every question is a search in an index, or a walk along one that is cut off by its limits, however long the log.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sdschat.store.checksums import body_sum
from sdschat.store.errors import told_plainly
from sdschat.store.store import Store

_FROM: Final = "SELECT log.place, log.lamport, log.message_id, body.raw, body.sum FROM log"
_BY_ID: Final = f"{_FROM} JOIN body USING (place) WHERE log.channel = ? AND log.message_id = ?"
_AT: Final = f"{_FROM} JOIN body USING (place) WHERE log.place = ? AND log.channel = ?"
_PLACE: Final = "SELECT log.place FROM log JOIN body USING (place) WHERE log.channel = ? AND log.message_id = ?"
_WALK: Final = (
    f"{_FROM} LEFT JOIN body USING (place) WHERE log.channel = ? AND log.lamport BETWEEN ? AND ? "
    "AND (log.lamport, log.message_id) {sign} (?, ?) ORDER BY log.lamport {way}, log.message_id {way}"
)
_UP: Final = _WALK.format(sign=">", way="ASC")
_DOWN: Final = _WALK.format(sign="<", way="DESC")
_BEYOND_ALL: Final = "\U0010ffff"  # sorts behind every id
_PATIENCE: Final = 4  # rows looked at for each that may be given, where packets are gone


class Kept(NamedTuple):
    """A message that is kept in full. `place` finds it again without its id, for as long as this database lives."""

    place: int
    lamport: int
    message_id: str
    raw: bytes


class Span(NamedTuple):
    """What a page is to hold. `low` and `high` are Lamport times, both included; `after` is a key, excluded."""

    low: int
    high: int
    after: tuple[int, str] | None
    newest_first: bool
    limit: int
    max_bytes: int


class Archive:
    """Reads what a node has committed, over the connection that it writes with."""

    __slots__ = ("_connection", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = store.connection

    def by_id(self, channel: str, message_id: str) -> Kept | None:
        number = self._store.number(channel)
        return None if number is None else self._one(_BY_ID, (number, message_id))

    def at(self, channel: str, place: int) -> Kept | None:
        number = self._store.number(channel)
        return None if number is None else self._one(_AT, (place, number))

    def place_of(self, channel: str, message_id: str) -> int | None:
        """Where a message is kept; nothing where its packet is gone."""
        number = self._store.number(channel)
        if number is None:
            return None
        with told_plainly(self._store.path):
            rows = self._connection.execute(_PLACE, (number, message_id)).fetchall()
        return rows[0][0] if rows else None

    def page(self, channel: str, span: Span) -> tuple[list[Kept], bool]:
        """The next messages of a range, at least one if there is one, and whether there are more behind them."""
        number = self._store.number(channel)
        if number is None:
            return [], False
        low, high = span.low, span.high
        # SQLite enters the index by the dates alone, so those are what must lead to where the last page ended.
        if span.newest_first:
            sql, after = _DOWN, span.after or (high, _BEYOND_ALL)
            high = min(high, after[0])
        else:
            sql, after = _UP, span.after or (low, "")
            low = max(low, after[0])
        found: list[Kept] = []
        size = looked = 0
        with told_plainly(self._store.path):
            for row in self._connection.execute(sql, (number, low, high, *after)):
                looked += 1
                if len(found) == span.limit or (looked > _PATIENCE * span.limit and found):
                    return found, True
                kept = _sound(row)
                if kept is None:
                    continue
                size += len(kept.raw)
                if size > span.max_bytes and found:
                    return found, True
                found.append(kept)
        return found, False

    def _one(self, sql: str, values: tuple[int | str, ...]) -> Kept | None:
        with told_plainly(self._store.path):
            rows = self._connection.execute(sql, values).fetchall()
        return _sound(rows[0]) if rows else None


def _sound(row: Any) -> Kept | None:
    """Nothing where the packet is gone, or where the disk has altered it: that is never handed on."""
    place, lamport, message_id, raw, checksum = row
    if raw is None or body_sum(message_id, raw) != checksum:
        return None
    return Kept(place, lamport, message_id, raw)


def plan(store: Store, newest_first: bool) -> str:
    """How SQLite walks along a range: for the test that no page looks through the log."""
    sql = _DOWN if newest_first else _UP
    rows: list[Any] = store.connection.execute(f"EXPLAIN QUERY PLAN {sql}", (1, 0, 1, 0, "")).fetchall()
    return "; ".join(row[3] for row in rows)
