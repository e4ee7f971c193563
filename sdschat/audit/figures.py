"""The figures of a report on SQLite: the events go into tables in memory, and the views of `figures.sql` answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeVar

from sdschat.audit.conform import Silver

QUIET: Final = 60_000  # milliseconds without any event of a node that are told
STRETCHES: Final = 200  # upper limit of stretches of time in a picture
_GRAINS: Final = (100, 200, 500, *(1_000 * each for each in (1, 2, 5, 10, 20, 60, 120, 300, 600, 1_800, 3_600, 21_600)))
_DAY: Final = 86_400_000
_TABLES: Final = """
CREATE TABLE rule (grain INTEGER, quiet INTEGER);
CREATE TABLE event (run_id, channel, node, boot, moment INTEGER, ts_ms INTEGER, event, message_id, sender, peer, cause,
  bytes INTEGER, payload_bytes INTEGER);
CREATE TABLE had (run_id, channel, node, message_id, received_ms INTEGER);
CREATE TABLE seen (run_id, channel, node, first_ms INTEGER, last_ms INTEGER);
"""
_INDEXES: Final = {
    "earliest": "run_id, channel, node, what, message_id",
    "way": "run_id, channel, sender, node",
    "clock": "run_id, channel, node, peer",
    "away": "run_id, node",
    "possession": "run_id, channel, node, message_id",
}


class Absence(NamedTuple):
    """A time in which a node wrote no event: not running, silent, or ended before others."""

    run_id: str
    node: str
    kind: str
    from_ms: int
    to_ms: int


class Reached(NamedTuple):
    """A message, and the node that got it last."""

    run_id: str
    channel: str
    message_id: str
    sender: str
    sent_ms: int
    receivers: int
    last_node: str
    took_ms: float
    via: str
    why: str


class LastOne(NamedTuple):
    run_id: str
    channel: str
    last_node: str
    why: str
    messages: int
    longest: float


class Spread(NamedTuple):
    """Percentiles of one figure: `pace`, deliveries to a node by time of sending; `everybody`, until all had it."""

    figure: str
    run_id: str
    channel: str
    node: str
    at_ms: int
    n: int
    p50: float
    p95: float
    longest: float


class Course(NamedTuple):
    """Events of one kind at one node in one stretch of time."""

    run_id: str
    channel: str
    node: str
    what: str
    at_ms: int
    n: int
    bytes: int


class Wire(NamedTuple):
    """The bytes that were sent for one cause, and for each byte of text."""

    run_id: str
    channel: str
    cause: str
    packets: int
    bytes: int
    text_bytes: int | None
    per_byte: float | None


class AckCount(NamedTuple):
    run_id: str
    channel: str
    state: str
    how: str
    n: int
    wrong: int
    undecided: int


class Acknowledgement(NamedTuple):
    """One acknowledgement, by `peer` as `node` understood it; `had_ms`: when the peer had the message."""

    run_id: str
    channel: str
    node: str
    peer: str
    message_id: str
    state: str
    how: str
    said_ms: int
    had_ms: int | None
    verdict: str


class Figures(NamedTuple):
    grain: int
    away: list[Absence]
    reached: list[Reached]
    last: list[LastOne]
    spread: list[Spread]
    course: list[Course]
    wire: list[Wire]
    acknowledged: list[AckCount]
    untrue: list[Acknowledgement]


R = TypeVar("R", bound=tuple[Any, ...])


def figures(silver: Silver) -> Figures:
    """Return the figures of these nodes."""
    grain = grain_of(row.ts_ms for row in silver.journal)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.executescript(_TABLES)
        database.execute("INSERT INTO rule VALUES (?, ?)", (grain, QUIET))
        _take(database, silver)
        _answer(database)

        def rows(table: type[R], name: str) -> list[R]:
            columns = ", ".join(table._fields)  # type: ignore[attr-defined]
            return [table(*row) for row in database.execute(f"SELECT {columns} FROM {name} ORDER BY {columns}")]

        return Figures(
            grain,
            rows(Absence, "away"),
            rows(Reached, "reached"),
            rows(LastOne, "last_one"),
            rows(Spread, "spread"),
            rows(Course, "course"),
            rows(Wire, "wire"),
            rows(AckCount, "acknowledged"),
            rows(Acknowledgement, "acknowledgement WHERE verdict = 'wrong'"),
        )


def grain_of(times: Iterable[int]) -> int:
    """Return the width of a stretch of time, so that there are few enough of them."""
    every = list(times)
    whole = max(every, default=0) - min(every, default=0)
    return next((each for each in _GRAINS if whole <= each * STRETCHES), _DAY * -(-whole // (_DAY * STRETCHES)))


def _take(database: sqlite3.Connection, silver: Silver) -> None:
    events = (
        (
            *(row.run_id, row.channel, row.node, row.boot, moment, row.ts_ms, row.event, row.message_id, row.sender),
            *(row.peer, row.cause, row.bytes, row.payload_bytes),
        )
        for moment, row in enumerate(silver.journal)
    )
    had = ((row.run_id, row.channel, row.node, row.message_id, row.received_ms) for row in silver.copies)
    seen = ((row.run_id, row.channel, row.node, row.first_ms, row.last_ms) for row in silver.presences)
    database.execute("BEGIN")
    for table, width, rows in (("event", 13, events), ("had", 5, had), ("seen", 5, seen)):
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", rows)
    database.execute("COMMIT")


def _answer(database: sqlite3.Connection) -> None:
    """Make all tables and views. Each table is indexed before the next one is made from it."""
    text = files("sdschat.audit").joinpath("figures_sqlite.sql").read_text("utf-8")
    for statement in filter(str.strip, text.split(";\n")):
        database.execute(statement)
        kind, name = statement[statement.index("CREATE") :].split()[1:3]
        if kind == "TABLE" and name in _INDEXES:
            database.execute(f"CREATE INDEX {name}_by ON {name} ({_INDEXES[name]})")
