"""Many runs on several processes. Results come when they are done, in no fixed order."""

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
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

from sdschat.audit.problem import PipelineProblem
from sdschat.experiment.grid.gridfile import Run
from sdschat.experiment.runs import SimRun, command_for, do_run, run_from, text_of

Work = Callable[[Sequence[Run]], Iterator[SimRun]]


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
    try:
        while True:
            for run in itertools.islice(waiting, most - len(given)):
                given[pool.submit(do, text_of(run))] = run
            if not given:
                return
            for future in wait(given, return_when=FIRST_COMPLETED).done:
                row = future.result()
                del given[future]
                yield row
    except BrokenProcessPool as error:  # also of a submission, where it is known already
        raise _died(list(given.values()) or runs) from error


def _died(runs: Sequence[Run]) -> PipelineProblem:
    largest = max(runs, key=lambda run: run.setting.participants)
    return PipelineProblem(
        "a process that simulated was killed, as happens for want of memory. What is done is kept; fewer --jobs need "
        f"less. The largest run being done, alone: {command_for(largest)}"
    )
