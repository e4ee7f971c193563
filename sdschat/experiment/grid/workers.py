"""Many runs on several processes, or on Spark. Results come when they are done, in no fixed order."""

from __future__ import annotations

import functools
import itertools
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from sdschat.audit.problem import PipelineProblem
from sdschat.experiment.grid.gridfile import Run, cost
from sdschat.experiment.runs import SimRun, command_for, do_run, run_from, text_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Work = Callable[[Sequence[Run]], Iterator[SimRun]]
_WAVE: Final = 15.0  # seconds of work for each core, after which results are saved
WAVES: Final = "waves"  # the name of the threads that wait for waves
_AT_ONCE: Final = 2  # waves, so that no core is idle while the last run of a wave goes on


def _do(text: str, journal: Path | None) -> SimRun:
    return do_run(run_from(text), journal)


def on_processes(jobs: int, journal: Path | None) -> Work:
    """Return the worker function for `jobs` processes of this machine."""

    def work(runs: Sequence[Run]) -> Iterator[SimRun]:
        if jobs == 1 or len(runs) < 2:
            yield from (do_run(run, journal) for run in runs)
            return
        others = set(active_children())
        with ProcessPoolExecutor(min(jobs, len(runs)), get_context("spawn"), _follow_the_parent) as pool:
            try:
                yield from _each_done(pool, runs, functools.partial(_do, journal=journal), 2 * jobs)
            except BaseException:  # the remaining results are not wanted any more
                for process in set(active_children()) - others:
                    process.terminate()
                raise

    return work


def _follow_the_parent() -> None:
    """Ignore Ctrl-C in this process, and end it when the parent ends.

    Ctrl-C goes to all processes of a terminal, and the parent's answer is enough. A killed parent cannot end them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _each_done(
    pool: ProcessPoolExecutor, runs: Sequence[Run], do: Callable[[str], SimRun], most: int
) -> Iterator[SimRun]:
    """Yield results as they come. Few runs are given out at a time: if a process dies, PipelineProblem names them."""
    waiting = iter(runs)
    given: dict[Future[SimRun], Run] = {}
    while True:
        for run in itertools.islice(waiting, most - len(given)):
            given[pool.submit(do, text_of(run))] = run
        if not given:
            return
        for future in wait(given, return_when=FIRST_COMPLETED).done:
            try:
                row = future.result()
            except BrokenProcessPool as error:
                raise _died(list(given.values())) from error
            del given[future]
            yield row


def _died(runs: Sequence[Run]) -> PipelineProblem:
    largest = max(runs, key=lambda run: run.setting.participants)
    return PipelineProblem(
        "a process that simulated was killed, as happens for want of memory. What is done is kept; fewer --jobs need "
        f"less. The largest run being done, alone: {command_for(largest)}"
    )


def on_spark(session: SparkSession, journal: Path | None, cores: int | None = None) -> Work:
    """Return the worker function for Spark: one task per run, by a range of n rows in n partitions.

    Spark distributes nothing else evenly.
    """

    @functools.cache
    def at_once() -> int:
        return cores or cores_of(session)

    def work(runs: Sequence[Run]) -> Iterator[SimRun]:
        threads = ThreadPoolExecutor(_AT_ONCE, WAVES)
        waves = [threads.submit(_wave, session, wave, journal) for wave in _waves(runs, at_once())]
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
    from pyspark.sql import functions as F

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
    task = functools.partial(_task, texts=[text_of(run) for run in runs], journal=journal)
    hints = get_type_hints(SimRun)
    schema = ", ".join(f"{name} {_SQL[hints[name]]}" for name in SimRun._fields)
    rows = session.range(0, len(runs), 1, len(runs)).mapInArrow(task, schema).toArrow()
    return [SimRun(**row) for row in rows.to_pylist()]


_SQL: Final = {str: "STRING", int: "BIGINT", float: "DOUBLE"}


def _task(batches: Iterator[Any], texts: list[str], journal: Path | None) -> Iterator[Any]:
    """Do the runs of some rows, on a worker of Spark."""
    import pyarrow as pa

    from sdschat.experiment.grid.table import SCHEMA

    for batch in batches:
        done = [_do(texts[at], journal)._asdict() for at in batch.column(0).to_pylist()]
        yield pa.RecordBatch.from_pylist(done, schema=SCHEMA)
