"""Many runs of simulated groups on Spark. Results come when they are done, in no fixed order."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sdschat.audit.schemas import ddl
from sdschat.experiment.grid.gridfile import Run, cost
from sdschat.experiment.grid.simulate import Work
from sdschat.experiment.runs import SimRun, do_run
from sdschat.lake.sources.batch import table_of

_WAVE: Final = 15.0  # seconds of work for each core, after which results are saved
WAVES: Final = "waves"  # the name of the threads that wait for waves
_AT_ONCE: Final = 2  # waves, so that no core is idle while the last run of a wave goes on


def on_spark(session: SparkSession, journal: Path | None, cores: int | None = None) -> Work:
    """Return the worker function for Spark: one task per run; only a range of n rows in n partitions is even."""

    def work(runs: Sequence[Run]) -> Iterator[SimRun]:
        threads = ThreadPoolExecutor(_AT_ONCE, WAVES)
        waves = [threads.submit(_wave, session, wave, journal) for wave in _waves(runs, cores or cores_of(session))]
        try:
            for wave in as_completed(waves):
                yield from wave.result()
        except BaseException:  # the remaining results are not wanted any more, and nobody waits for them
            threads.shutdown(wait=False, cancel_futures=True)
            session.interruptAll()
            raise
        threads.shutdown()

    return work


def cores_of(session: SparkSession) -> int:
    """Return the number of tasks that run at once: Spark splits its own ranges into as many partitions."""
    parts = session.range(1_000_000).select(F.spark_partition_id().alias("part")).distinct()
    return max(1, parts.count())


def _waves(runs: Sequence[Run], cores: int) -> list[list[Run]]:
    waves: list[list[Run]] = [[]]
    spent = 0.0
    for run in runs:
        if spent > _WAVE * cores and len(waves[-1]) >= cores:
            waves.append([])
            spent = 0.0
        waves[-1].append(run)
        spent += cost(run.setting)
    return waves


def _wave(session: SparkSession, runs: Sequence[Run], journal: Path | None) -> list[SimRun]:
    if not runs:
        return []
    task = functools.partial(_task, runs=list(runs), journal=journal)
    rows = session.range(0, len(runs), 1, len(runs)).mapInArrow(task, ddl(SimRun)).toArrow()
    return [SimRun(**row) for row in rows.to_pylist()]


def _task(batches: Iterator[Any], runs: list[Run], journal: Path | None) -> Iterator[Any]:
    for batch in batches:
        yield from table_of(SimRun, [do_run(runs[at], journal) for at in batch.column(0).to_pylist()]).to_batches()
