"""The time from a segment's arrival in the folder until the lake has it, and until a verdict counts it."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Final

from sdschat.audit.schemas import FIELD
from sdschat.lake import judge
from sdschat.lake.duck import open_duck
from sdschat.lake.ingest import SegmentStream
from sdschat.lake.tables import Tables
from sdschat.store.journal import JournalRow, json_lines
from tests.pipeline.bench_bars import Bar, Bars
from tests.store.samples import START

_SEGMENTS: Final = 60
_ROWS: Final = 1_000  # in each segment
_TAKEN: Final = Bar(9, 2.5, "s")
_JUDGED: Final = Bar(9, 5.0, "s")


def measure(bars: Bars, folder: Path) -> None:
    segments, lake = folder / "segments", folder / "stream"
    segments.mkdir(parents=True)
    stream, taken = SegmentStream(Tables(str(lake)), segments, FIELD, 200), []
    for number in range(_SEGMENTS):
        _put(segments, number)
        began = time.perf_counter()
        batch = stream.batch()
        taken.append(time.perf_counter() - began)
        assert batch is not None
        assert batch.events == _ROWS
    bars.tell(f"a segment of {_ROWS:,} rows in the lake, half", "DuckDB", statistics.median(taken), "s", _TAKEN)
    bars.tell("the same, 95 of 100", "DuckDB", statistics.quantiles(taken, n=20)[-1], "s", _TAKEN)
    began = time.perf_counter()
    with open_duck(lake) as there:
        judge.refine(there)
        judge.consolidate(there)
        judge.audit(there)
    bars.tell("and a verdict on all of it", "DuckDB", time.perf_counter() - began, "s", _JUDGED)


def _put(segments: Path, number: int) -> None:
    first = number * _ROWS
    whose = {"deps": (), "cause": "live", "node": "bob", "boot": "boot"}
    rows = [
        JournalRow("delivered", "lobby", START + at, at, f"{at:064x}", "ann", START + at, **whose, seq=at + 1)  # type: ignore[arg-type]
        for at in range(first, first + _ROWS)
    ]
    path = segments / f"segment-{first:09}.jsonl"
    path.write_text("\n".join(json_lines(rows)) + "\n", encoding="utf-8")
    os.utime(path, (number, number))
