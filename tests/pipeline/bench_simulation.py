"""Simulations on Spark's `local[2]` and on a bare pool of two processes: the ratio of their times.

    python -m tests.pipeline.bench_simulation

Both have been started, and have done runs, before it is measured. They take turns, so that whatever else the machine
does hits both; the ratio is that of the medians. Both must come to the same figures.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from statistics import median

from sdschat.pipeline.grid.gridfile import Run
from sdschat.pipeline.grid.runs import SimRun, do_run, run_from, text_of
from sdschat.pipeline.grid.setting import Setting
from sdschat.pipeline.grid.workers import on_spark
from sdschat.pipeline.session import Where, spark

BAR = 1.1


def _do(text: str) -> SimRun:
    return do_run(run_from(text))


def _timed(work: Callable[[Sequence[Run]], list[SimRun]], runs: Sequence[Run]) -> tuple[float, dict[str, str]]:
    began = time.perf_counter()
    rows = work(runs)
    return time.perf_counter() - began, {row.run_id: row.figures for row in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--participants", type=int, default=60)
    options = parser.parse_args()
    setting = Setting(by="engine", participants=options.participants, loss=0.1)
    times: dict[str, list[float]] = {"Spark, local[2]": [], "pool of two": []}
    with spark(Where("local[2]")) as session, get_context("spawn").Pool(2) as pool:
        there = on_spark(session, None)
        works: dict[str, Callable[[Sequence[Run]], list[SimRun]]] = {
            "Spark, local[2]": lambda runs: list(there(runs)),
            "pool of two": lambda runs: list(pool.imap_unordered(_do, [text_of(run) for run in runs])),
        }
        for work in works.values():
            work([Run(setting, seed) for seed in range(4)])
        for number in range(options.rounds):
            runs = [Run(setting, 1000 * number + seed) for seed in range(options.runs)]
            done = []
            for name, work in works.items():
                seconds, figures = _timed(work, runs)
                times[name].append(seconds)
                done.append(figures)
            assert done[0] == done[1], "Spark and the pool disagree"
            print(", ".join(f"{name} {found[-1]:.1f} s" for name, found in times.items()), flush=True)
    one, other = (median(found) for found in times.values())
    print(
        f"Spark takes {one / other:.3f} times as long as the pool; the load of the machine is {os.getloadavg()[0]:.1f}"
    )
    return 0 if one <= BAR * other else 1


if __name__ == "__main__":
    raise SystemExit(main())
