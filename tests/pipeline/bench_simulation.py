"""Simulations: Spark's `local[2]` beside a pool of two processes, and the speed of the model.

    python -m tests.pipeline.bench --only simulation

Both have been started, and have done runs, before they are measured. They take turns, so that other work of the machine
affects both; the ratio is that of the medians. Both must give the same figures. The speed of the model is given in
messages times participants: each of a million participants hears or misses each message, with all consequences. The
first runs of two processes are slower, since the machine gives them their memory; what they do again is judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from statistics import median

from sdschat.experiment.grid.gridfile import Run
from sdschat.experiment.runs import SimRun, do_run
from sdschat.experiment.setting import GroupSetting
from sdschat.pipeline.runs_on_spark import on_spark
from sdschat.pipeline.session import SparkTarget, spark
from tests.pipeline.bench_bars import Bar, Bars

_RUNS, _ROUNDS = 16, 5
_ENGINE = GroupSetting(
    by="engine", participants=120, loss=0.1
)  # about a second for each run; a Spark task costs a tenth
_MODEL = GroupSetting(by="model", participants=1_000_000, loss=0.05)
SPARK, POOL = "Spark, local[2]", "pool of two"


def _timed(work: Callable[[Sequence[Run]], list[SimRun]], runs: Sequence[Run]) -> tuple[float, dict[str, str]]:
    began = time.perf_counter()
    rows = work(runs)
    return time.perf_counter() - began, {row.run_id: row.figures for row in rows}


def measure(bars: Bars) -> None:
    with spark(SparkTarget("local[2]")) as session, get_context("spawn").Pool(2) as pool:
        there = on_spark(session, None)
        works: dict[str, Callable[[Sequence[Run]], list[SimRun]]] = {
            SPARK: lambda runs: list(there(runs)),
            POOL: lambda runs: list(pool.imap_unordered(do_run, runs)),
        }
        for work in works.values():
            work([Run(_ENGINE, seed) for seed in range(4)])
        _taking_turns(bars, works)
        _model(bars, works[SPARK])


def _taking_turns(bars: Bars, works: dict[str, Callable[[Sequence[Run]], list[SimRun]]]) -> None:
    times: dict[str, list[float]] = {name: [] for name in works}
    for number in range(_ROUNDS):
        runs = [Run(_ENGINE, 1000 * number + seed) for seed in range(_RUNS)]
        done = []
        for name, work in works.items():
            seconds, figures = _timed(work, runs)
            times[name].append(seconds)
            done.append(figures)
        assert done[0] == done[1], "Spark and the pool disagree"
        said = ", ".join(f"{name} {found[-1]:.1f} s" for name, found in times.items())
        print(f"round {number + 1} of {_ROUNDS}: {said}", flush=True)
    for name, found in times.items():
        bars.tell(f"{_RUNS} runs of {_ENGINE.participants} participants, median", name, median(found), "s")
    ratio = median(times[SPARK]) / median(times[POOL])
    bars.tell("their ratio", "", ratio, "times", Bar(10, 1.1, "times"))


def _model(bars: Bars, work: Callable[[Sequence[Run]], list[SimRun]]) -> None:
    for when, runs, bar in (("first", 2, None), ("again", 6, Bar(10, 5, "million/s", least=True))):
        seconds, _ = _timed(work, [Run(_MODEL, seed) for seed in range(runs)])
        what = f"{runs} runs of {_MODEL.participants:,} participants, {_MODEL.messages} messages each"
        bars.tell(f"{what}, {when}", SPARK, seconds, "s")
        rate = runs * _MODEL.messages * _MODEL.participants / seconds / 1e6
        bars.tell(f"participants times messages, {when}", SPARK, rate, "million/s", bar)
