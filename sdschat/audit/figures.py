"""The figures of a report on SQLite: the events go into tables in memory, and the views of `figures.sql` answer."""

from __future__ import annotations

import math
import sqlite3
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from sdschat.audit.answers import Figures, FilterTrial, answers
from sdschat.audit.engine import answer, insert
from sdschat.audit.node_evidence import AuditEvidence, Held, Member
from sdschat.audit.schemas import Journal, Message
from sdschat.audit.sources.packets import CODEC
from sdschat.audit.verdict import Audit
from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.values import Message as Packet

QUIET: Final = 60_000  # milliseconds without any event of a node that are told
LATER: Final = 50  # ids tested against each filter: the ones that its sender delivered next
STRETCHES: Final = 200  # upper limit of stretches of time in a picture
_GRAINS: Final = (100, 200, 500, *(1_000 * each for each in (1, 2, 5, 10, 20, 60, 120, 300, 600, 1_800, 3_600, 21_600)))
_DAY: Final = 86_400_000
_TABLES: Final[Mapping[str, str]] = {
    "rule": "grain INTEGER, quiet INTEGER",
    "event": "run_id, channel, node, boot, moment INTEGER, ts_ms INTEGER, event, message_id, sender, peer, cause, "
    "bytes INTEGER, payload_bytes INTEGER, ids INTEGER, attempt INTEGER",
    "had": "run_id, channel, node, message_id, received_ms INTEGER",
    "seen": "run_id, channel, node, first_ms INTEGER, last_ms INTEGER",
    "packet": "run_id, channel, source, kind, packet, bytes INTEGER, content_bytes INTEGER, filter_bytes INTEGER, "
    "history_bytes INTEGER, request_bytes INTEGER",
    "trial": "run_id, channel, node, filters INTEGER, checks INTEGER, hits INTEGER, expected REAL",
    "lacked": "run_id, channel, node, position INTEGER, until INTEGER, reason",
    "extent": "run_id, channel, messages INTEGER",
}
_INDEXES: Final = {
    "earliest": "run_id, channel, node, what, message_id",
    "way": "run_id, channel, sender, node",
    "clock": "run_id, channel, node, peer",
    "away": "run_id, node",
    "possession": "run_id, channel, node, message_id",
    "spread": "figure, run_id, channel, node, via, at_ms",
}
_NO_VERDICT: Final = Audit([], [], [], [], [])


def figures(said: AuditEvidence, audit: Audit = _NO_VERDICT) -> Figures:
    grain = grain_of(row.ts_ms for row in said.journal)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.create_aggregate("QUANTILE_CONT", 2, _Quantile)  # type: ignore[arg-type]
        database.execute("BEGIN")
        for table, columns in _TABLES.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
        for table, rows in _rows(said, audit, grain).items():
            insert(database, table, rows)
        database.execute("COMMIT")
        answer(database, "figures", _INDEXES)
        return Figures(grain, *(_found(database, kind, name) for kind, name in answers().values()))


def _found(database: sqlite3.Connection, kind: type, name: str) -> list[Any]:
    columns = ", ".join(f'"{name}"' for name in kind.__annotations__)
    return [kind(*row) for row in database.execute(f"SELECT {columns} FROM {name} ORDER BY {columns}")]


class _Quantile:
    """The value below which this share of a group lies, in proportion between two values; SQLite has none."""

    def __init__(self) -> None:
        self._values: list[float] = []
        self._share = 0.0

    def step(self, value: float, share: float) -> None:
        self._values.append(value)
        self._share = share

    def finalize(self) -> float:
        ordered = sorted(self._values)
        place = self._share * (len(ordered) - 1)
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        return low + (high - low) * (place - math.floor(place))


def grain_of(times: Iterable[int]) -> int:
    """Return the width of a stretch of time, so that there are few enough of them."""
    every = list(times)
    whole = max(every, default=0) - min(every, default=0)
    return next((each for each in _GRAINS if whole <= each * STRETCHES), _DAY * -(-whole // (_DAY * STRETCHES)))


def _rows(said: AuditEvidence, audit: Audit, grain: int) -> dict[str, Iterable[tuple[Any, ...]]]:
    return {
        "rule": [(grain, QUIET)],
        "event": (_event(moment, row) for moment, row in enumerate(said.journal)),
        "had": ((*member, name, at) for member, one in said.held.items() for name, at in one.received.items()),
        "seen": ((*row[:3], row.first_ms, row.last_ms) for row in said.presences),
        "packet": (_packet(row) for row in said.messages if row.bytes is not None),
        "trial": _trials(said.held, said.messages),
        "lacked": ((row.run_id, row.channel, row.node, row.position, row.until, row.reason) for row in audit.missing),
        "extent": ((row.run_id, row.channel, row.messages) for row in audit.channels),
    }


def _event(moment: int, row: Journal) -> tuple[Any, ...]:
    of_message = (row.message_id, row.sender, row.peer, row.cause, row.bytes, row.payload_bytes)
    place = (row.run_id, row.channel, row.node, row.boot, moment, row.ts_ms, row.event)
    return *place, *of_message, len(row.deps or ()), row.attempt


def _packet(row: Message) -> tuple[Any, ...]:
    sizes = (row.bytes, row.content_bytes, row.filter_bytes, row.history_bytes, row.request_bytes)
    return row.run_id, row.channel, "log", "message", row.message_id, *(size or 0 for size in sizes)


def _trials(held: Mapping[Member, Held], messages: Iterable[Message]) -> Iterator[FilterTrial]:
    packets: dict[Member, dict[str, bytes]] = defaultdict(dict)
    for row in messages:
        if row.own and row.raw is not None and row.damage is None:
            packets[row.run_id, row.channel, row.node][row.message_id] = row.raw
    for member, own in packets.items():
        ordered = sorted((at, name) for name, at in held[member].received.items()) if member in held else []
        times, names = [at for at, _ in ordered], [name for _, name in ordered]
        starts = {name: bisect_right(times, at) for at, name in ordered}
        asked = ((raw, names[starts[name] : starts[name] + LATER]) for name, raw in own.items() if name in starts)
        trial = tried(member, asked)
        if trial.filters:
            yield trial


def tried(member: Member, packets: Iterable[tuple[bytes, Sequence[str]]]) -> FilterTrial:
    """Test the filters of packets of a node (run, channel and node) with ids that they contain only by chance."""
    filters = checks = hits = 0
    expected = 0.0
    for raw, ids in packets:
        message = CODEC.decode(raw)
        if not isinstance(message, Packet) or not message.bloom_filter or not ids:
            continue
        found = read_filter(message.bloom_filter)
        if isinstance(found, str):
            continue
        filters += 1
        checks += len(ids)
        hits += sum(map(found.holds, ids))
        expected += len(ids) * found.fill**found.hashes
    return FilterTrial(*member, filters, checks, hits, expected)
