"""The time from a segment's arrival in the folder to its fingerprints in the lake, as a reader sees them."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from sdschat.audit.schemas import FIELD, Fingerprint
from sdschat.pipeline.stream.job import start
from sdschat.pipeline.stream.parts import FOLDER, Counted
from sdschat.store.journal import JournalRow, json_lines
from tests.pipeline.bench_bars import Bar, Bars
from tests.store.samples import START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SEGMENTS = 60
_ROWS = 1_000  # in each segment
_FIRST = 3  # segments for the start-up, in which the query compiles its code
_PAUSE = (0.3, 1.3)  # seconds between two segments
_PATIENCE = 120.0


class Arrivals:
    """Segments of one node's journal, and the part of them that the lake has."""

    def __init__(self, folder: Path) -> None:
        self.segments, self.lake = folder / "segments", folder / "lake"
        self.segments.mkdir(parents=True)
        self.put: list[float] = []
        self._counted: dict[str, int] = {}

    def one_more(self) -> None:
        first = len(self.put) * _ROWS
        rows = [
            JournalRow(
                "delivered",
                "lobby",
                START + at,
                at,
                f"{at:064x}",
                "ann",
                START + at,
                deps=(),
                cause="live",
                node="bob",
                boot="boot",
                seq=at + 1,
            )
            for at in range(first, first + _ROWS)
        ]
        fresh = self.segments / f".segment-{first:09}.jsonl"
        fresh.write_text("\n".join(json_lines(rows)) + "\n", encoding="utf-8")
        fresh.rename(fresh.with_name(fresh.name[1:]))
        self.put.append(time.perf_counter())

    def there(self) -> int:
        """Return the number of segments in the fingerprints of complete batches."""
        stream = self.lake / FOLDER
        for done in (stream / Counted.__name__.lower()).glob("batch=*/part-*.parquet"):
            if done.parent.name not in self._counted:
                prints = stream / Fingerprint.__name__.lower() / done.parent.name
                columns: Any = pq.read_table(prints, columns=["n"], partitioning=None).column("n")
                self._counted[done.parent.name] = sum(columns.to_pylist())
        return sum(self._counted.values()) // _ROWS


def stream(bars: Bars, spark: SparkSession, folder: Path) -> None:
    arrivals, draw = Arrivals(folder / "stream"), random.Random(1)
    query = start(spark, str(arrivals.segments), str(arrivals.lake), FIELD, every="1 second")
    try:
        for count in range(1, _FIRST + 1):
            arrivals.one_more()
            _until(query, arrivals, count)
        waited = np.array(_waited(query, arrivals, draw)[_FIRST:])
    finally:
        query.stop()
    half, most = np.percentile(waited, [50, 95])
    what = f"{len(waited)} segments, trigger 1 s: to their fingerprints"
    bars.tell(f"{what}, half of them", "Spark", float(half), "s")
    bars.tell(f"{what}, 95 of 100", "Spark", float(most), "s", Bar(9, 2.5))


def _until(query: Any, arrivals: Arrivals, count: int) -> None:
    until = time.perf_counter() + _PATIENCE
    while arrivals.there() < count:
        _must_go_on(query, until)
        time.sleep(0.02)


def _waited(query: Any, arrivals: Arrivals, draw: random.Random) -> list[float]:
    """Return the waiting time of each segment in seconds, in the order of arrival."""
    waited = [0.0] * arrivals.there()
    until = time.perf_counter() + _PATIENCE + 2 * _SEGMENTS
    due = time.perf_counter()
    while len(waited) < _FIRST + _SEGMENTS:
        _must_go_on(query, until)
        if len(arrivals.put) < _FIRST + _SEGMENTS and time.perf_counter() >= due:
            arrivals.one_more()
            due += draw.uniform(*_PAUSE)
        there, now = arrivals.there(), time.perf_counter()
        waited += [now - at for at in arrivals.put[len(waited) : there]]
        time.sleep(0.02)
    return waited


def _must_go_on(query: Any, until: float) -> None:
    if not query.isActive or time.perf_counter() > until:
        raise RuntimeError(f"the stream does not go on: {query.exception()}")
