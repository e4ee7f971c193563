"""The figures and the report of a lake, by `figures.sql`. Only answers and the first rows of lists are collected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

import pyarrow

import sdschat
from sdschat.audit import schemas as tables
from sdschat.audit.answers import METRICS, Figures, FilterTrial, answers
from sdschat.audit.figures import QUIET, grain_of, tried
from sdschat.audit.report.data import ReportData, moment, shown_channels
from sdschat.audit.schemas import SPARK_TYPES, columns
from sdschat.lake.engine import LakeEngine
from sdschat.lake.judge import MOST, audit_of, places_in, refused_in

_NEEDED: Final[Mapping[type, str]] = {
    tables.Event: "silver_event",
    tables.Presence: "silver_presence",
    tables.Message: "bronze_message",
    tables.Node: "bronze_node",
    tables.Packet: "bronze_packet",
    tables.AuditMissing: "audit_missing",
    tables.AuditChannel: "gold_channel",
}
_OF_ALL = frozenset({"spread", "course", "curve", "cell"})  # a part of them would make a picture that is not true


def measure(lake: LakeEngine, *, keep: bool) -> int:
    """Make the answers from silver and the verdict, and return the grain. With `keep` the lake keeps its metrics."""
    lake.forget()
    for table, name in _NEEDED.items():
        lake.name(table, name)
    grain = grain_of(at for at in lake.rows("SELECT MIN(ts_ms), MAX(ts_ms) FROM silver_event")[0] if at is not None)
    lake.make("rule", f"SELECT {grain} AS grain, {QUIET} AS quiet", once=False)
    lake.run(chain.from_iterable(lake.statements("sdschat.lake", file) for file in ("copies", "figures")), {})
    lake.apply("trial", "SELECT run_id, channel, node, raw, ids FROM asked_filter", _tried, FilterTrial)
    kept = {answer: kind for name, (kind, answer) in answers().items() if name in METRICS} if keep else {}
    lake.run(lake.statements("sdschat.audit", "figures"), kept)
    return grain


def figures(lake: LakeEngine, grain: int, channels: Sequence[tables.AuditChannel]) -> Figures:
    """Return the figures of these channels, which `measure` has just made; of long lists the first rows."""
    keys = [(row.run_id, row.channel) for row in channels]
    found: dict[str, list[Any]] = {}
    for name, (kind, answer) in answers().items():
        table = f"(SELECT * FROM {answer}) AS a"
        limit = None if name in _OF_ALL else MOST
        if "channel" in columns(kind):
            wanted = " OR ".join(["run_id = ? AND channel = ?"] * len(keys)) or "1 = 0"
            found[name] = _rows(lake, kind, f"{table} WHERE {wanted}", limit, *(part for key in keys for part in key))
        else:
            found[name] = _rows(lake, kind, table, limit)
    return Figures(grain, **found)


def metrics(lake: LakeEngine) -> dict[str, list[Any]]:
    every = answers()
    return {name: _rows(lake, *every[name], MOST) for name in METRICS}


def _rows(lake: LakeEngine, kind: type, source: str, limit: int | None, *values: str) -> list[Any]:
    names = columns(kind)
    typed = ", ".join(f"CAST({name} AS {SPARK_TYPES[each]}) AS {name}" for name, each in names.items())
    ending = "" if limit is None else f" LIMIT {limit}"
    return [
        kind(*row) for row in lake.rows(f"SELECT {typed} FROM {source} ORDER BY {', '.join(names)}{ending}", *values)
    ]


def _tried(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    for batch in batches:
        found = (
            tried((row["run_id"], row["channel"], row["node"]), [(row["raw"], row["ids"])]) for row in batch.to_pylist()
        )
        rows = [row._asdict() for row in found if row.filters]
        if rows:
            yield pyarrow.RecordBatch.from_pylist(rows)


_NOT_TAKEN: Final = 20


def report_data(lake: LakeEngine, root: str, grain: int, made_ms: int) -> ReportData:
    audit, sources, refused = audit_of(lake), places_in(lake), refused_in(lake, most=_NOT_TAKEN)
    counted = {"events": tables.Journal, "copies of messages": tables.Message, "packets": tables.Packet}
    made_from = {
        "Made": f"{moment(made_ms)} UTC by sdschat {sdschat.__version__}, with {lake.engine}",
        "Lake": f"{root}, tables of version {tables.VERSION}",
        "Rows": ", ".join(f"{name}: {_count(lake, table):,}" for name, table in counted.items()),
        "Databases": ", ".join(sorted(set(sources.values()))) or "none",
    }
    drawn = figures(lake, grain, shown_channels(audit))
    return ReportData(audit, drawn, made_from, sources, refused.rows, refused.inputs)


def _count(lake: LakeEngine, table: type) -> int:
    lake.name(table, "there")
    return int(lake.rows("SELECT COUNT(*) FROM there")[0][0])
