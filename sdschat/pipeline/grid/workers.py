"""Many runs on several processes, or on Spark. Results come as they are done, in no order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from sdschat.pipeline.grid.gridfile import Run, cost
from sdschat.pipeline.grid.runs import SimRun, do_run, run_from, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Work = Callable[[Sequence[Run]], Iterator[SimRun]]
_WAVE: Final = 60.0  # seconds of work for each core after which results are safe
_AT_ONCE: Final = 2  # waves, so that no core waits for the last run of one


def _do(text: str, journal: Path | None) -> SimRun:
    return do_run(run_from(text), journal)


def on_processes(jobs: int, journal: Path | None) -> Work:
    """`jobs` processes of this machine."""

    def work(runs: Sequence[Run]) -> Iterator[SimRun]:
        do = functools.partial(_do, journal=journal)
        texts = [text_of(run) for run in runs]
        if jobs == 1:
            yield from map(do, texts)
            return
        with get_context("spawn").Pool(min(jobs, len(runs) or 1)) as pool:
            yield from pool.imap_unordered(do, texts)

    return work


def on_spark(session: SparkSession, journal: Path | None) -> Work:
    """One task a run: a range of n rows in n partitions is the only thing that Spark never spreads unevenly."""

    def work(runs: Sequence[Run]) -> Iterator[SimRun]:
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            waves = [threads.submit(_wave, session, wave, journal) for wave in _waves(runs, _cores(session))]
            yield from _as_done(waves)

    return work


def _as_done(waves: Sequence[Future[list[SimRun]]]) -> Iterator[SimRun]:
    try:
        for wave in as_completed(waves):
            yield from wave.result()
    finally:
        for wave in waves:
            wave.cancel()


def _cores(session: SparkSession) -> int:
    import os

    return int(session.conf.get("spark.sql.leafNodeDefaultParallelism", None) or os.cpu_count() or 1)


def _waves(runs: Sequence[Run], cores: int) -> list[list[Run]]:
    waves: list[list[Run]] = [[]]
    spent = 0.0
    for run in runs:
        if spent > _WAVE * cores and len(waves[-1]) >= 2 * cores:
            waves.append([])
            spent = 0.0
        waves[-1].append(run)
        spent += cost(run.setting)
    return waves


def _wave(session: SparkSession, runs: Sequence[Run], journal: Path | None) -> list[SimRun]:
    if not runs:
        return []
    task = functools.partial(_task, texts=[text_of(run) for run in runs], journal=journal)
    hints = get_type_hints(SimRun)
    schema = ", ".join(f"{name} {_SQL[hints[name]]}" for name in SimRun._fields)
    rows = session.range(0, len(runs), 1, len(runs)).mapInArrow(task, schema).toArrow()
    return [SimRun(**row) for row in rows.to_pylist()]


_SQL: Final = {str: "STRING", int: "BIGINT", float: "DOUBLE"}


def _task(batches: Iterator[Any], texts: list[str], journal: Path | None) -> Iterator[Any]:
    """On a worker of Spark."""
    import pyarrow as pa

    from sdschat.pipeline.grid.table import SCHEMA

    for batch in batches:
        done = [_do(texts[at], journal)._asdict() for at in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_pylist(done, schema=SCHEMA)
