"""The progress of a grid, and an estimate of the remaining time."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from sdschat.experiment.grid.gridfile import Run, cost
from sdschat.experiment.runs import SimRun


class Progress:
    """The progress of runs, `jobs` at a time. What is left is expected to take as much longer than its cost says as the
    runs of the same kind took: the engine's or the model's. `known`: runs that were done before."""

    def __init__(
        self,
        total: int,
        missing: Sequence[Run],
        known: Iterable[tuple[Run, SimRun]] = (),
        jobs: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self.before = total - len(missing)
        self.done = 0
        self.failed = 0
        self._jobs, self._clock = max(1, jobs), clock
        self._lock = threading.Lock()
        self._left: dict[str, float] = defaultdict(float)  # cost of the runs of one kind
        self._took: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])  # seconds, and the cost of the same runs
        for run in missing:
            self._left[run.setting.by] += cost(run.setting)
        for run, row in known:
            self._note(run, row)
        self._heard = clock()  # when the last result came

    def did(self, run: Run, row: SimRun) -> None:
        with self._lock:
            self.done += 1
            self.failed += bool(row.failed)
            self._left[run.setting.by] -= cost(run.setting)
            self._note(run, row)
            self._heard = self._clock()

    def _note(self, run: Run, row: SimRun) -> None:
        if not row.failed:
            took = self._took[run.setting.by]
            took[0] += row.wall_s
            took[1] += cost(run.setting)

    def line(self) -> str:
        """Return the progress as one line. Any thread may call this."""
        with self._lock:
            text = f"{self.before + self.done}/{self.total} {'run' if self.total == 1 else 'runs'}"
            if self.failed:
                text += f", {self.failed} failed"
            if self.before + self.done < self.total:
                seconds = self._seconds()
                text += f", about {spoken(seconds)} left" if seconds > 0 else ", longer than expected"
            return text

    def _seconds(self) -> float:
        """Return the seconds that are left, fewer with each second since the last result."""
        left = 0.0
        for by, costs in self._left.items():
            seconds, of_cost = self._took[by]
            left += costs * (seconds / of_cost if of_cost else 1.0)
        return left / self._jobs - (self._clock() - self._heard)


def spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
