"""A grid from beginning to end: what is there already is not done again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sdschat.pipeline.grid.gridfile import Grid, Run, cost, runs_of
from sdschat.pipeline.grid.runs import SimRun, command_of
from sdschat.pipeline.grid.table import RunTable
from sdschat.pipeline.grid.workers import Work

_SAVE_EVERY: Final = 2.0  # seconds


@dataclass(slots=True)
class Progress:
    """How far it is. The estimate goes by what runs of the kind that is left are expected to cost."""

    total: int
    before: int
    done: int = 0
    failed: int = 0
    spent: float = 0.0
    left: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        elapsed = time.monotonic() - self.began
        text = f"{self.before + self.done}/{self.total} runs"
        if self.failed:
            text += f", {self.failed} failed"
        if self.spent and self.before + self.done < self.total:
            text += f", about {_spoken(elapsed * self.left / self.spent)} left"
        return text


def _spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


@dataclass(slots=True)
class Result:
    runs: list[SimRun]
    before: int
    seconds: float

    @property
    def failures(self) -> list[SimRun]:
        return [run for run in self.runs if run.failed]

    def lines(self) -> list[str]:
        done = len(self.runs) - self.before
        said = [f"{len(self.runs)} runs, {self.before} of them from before, {done} in {_spoken(self.seconds)}"]
        for run in self.failures[:10]:
            said += [f"failed: {run.failed}", f"    again, alone: {command_of(run)}"]
        if len(self.failures) > 10:
            said.append(f"and {len(self.failures) - 10} more failed; `failed` in {RunTable.__name__} has them")
        return said


def simulate(grid: Grid, lake: Path, work: Work, told: Callable[[Progress], None] = lambda progress: None) -> Result:
    """Do what is missing. Results are saved as they come, so that whoever is interrupted can go on."""
    table = RunTable(lake)
    wanted = runs_of(grid)
    known = table.read()
    missing = [run for run in wanted if run.key not in known or known[run.key].failed]
    progress = Progress(len(wanted), len(wanted) - len(missing), left=sum(cost(run.setting) for run in missing))
    _work_off(missing, work, table, progress, told)
    table.compact()
    done = table.read()
    runs = [done[run.key] for run in wanted if run.key in done]
    return Result(runs, progress.before, time.monotonic() - progress.began)


def _work_off(
    missing: Sequence[Run], work: Work, table: RunTable, progress: Progress, told: Callable[[Progress], None]
) -> None:
    costs = {run.key: cost(run.setting) for run in missing}
    unsaved: list[SimRun] = []
    saved_at = time.monotonic()
    try:
        for row in work(missing):
            unsaved.append(row)
            progress.done += 1
            progress.failed += bool(row.failed)
            progress.spent += costs[row.run_id]
            progress.left -= costs[row.run_id]
            told(progress)
            if time.monotonic() - saved_at > _SAVE_EVERY:
                table.append(unsaved)
                unsaved, saved_at = [], time.monotonic()
    finally:
        table.append(unsaved)
