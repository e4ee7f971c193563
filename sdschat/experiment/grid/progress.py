"""The progress of a grid, and an estimate of the remaining time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from sdschat.experiment.grid.gridfile import Run
from sdschat.experiment.grid.pace import Pace
from sdschat.experiment.runs import SimRun
from sdschat.experiment.setting import GroupSetting


class Progress:
    """The progress of runs that begin in their order, `jobs` at a time.

    `in_waves`: the results of many runs come only when all are done. The estimate can be asked for at any time, also
    while no run ends: it counts how long the current runs have lasted."""

    def __init__(
        self,
        total: int,
        missing: Sequence[Run],
        pace: Pace,
        jobs: int = 1,
        in_waves: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self.before = total - len(missing)
        self.done = 0
        self.failed = 0
        self._pace, self._jobs, self._in_waves, self._clock = pace, max(1, jobs), in_waves, clock
        self._lock = threading.Lock()
        self._next = iter(missing)
        self._waiting = Counter(run.setting for run in missing)  # number of runs of each setting
        self._going: dict[str, tuple[GroupSetting, float]] = {}  # run: its setting and when it began
        self._early: set[str] = set()  # runs that ended before we assumed them to begin
        self._heard = clock()  # when the last result came
        self._begin()

    def did(self, run: Run, row: SimRun) -> None:
        with self._lock:
            self.done += 1
            self.failed += bool(row.failed)
            self._heard = self._clock()
            if self._going.pop(row.run_id, None) is None:
                self._early.add(row.run_id)
                self._waiting[run.setting] -= 1
            if not row.failed:
                self._pace.took(run.setting, row.wall_s)
            self._begin()

    def line(self) -> str:
        """Return the progress as one line. Any thread may call this."""
        with self._lock:
            return self._line()

    def _line(self) -> str:
        text = f"{self.before + self.done}/{self.total} {'run' if self.total == 1 else 'runs'}"
        if self.failed:
            text += f", {self.failed} failed"
        if self.before + self.done < self.total:
            seconds, sure = self._in_a_wave() if self._in_waves else self._one_by_one()
            left = f"{'about' if sure else 'at least'} {spoken(seconds)} left"
            text += f", {left if sure or seconds >= 1 else 'longer than expected'}"
        return text

    def _begin(self) -> None:
        while len(self._going) < self._jobs and (run := next(self._next, None)) is not None:
            if run.key in self._early:
                self._early.discard(run.key)
                continue
            self._waiting[run.setting] -= 1
            self._going[run.key] = run.setting, self._clock()

    def _in_a_wave(self) -> tuple[float, bool]:
        """Return the remaining seconds, and True if that is an estimate rather than a lower bound."""
        left = self._waiting_work() + sum(self._pace.seconds(setting) for setting, _ in self._going.values())
        done = (self._clock() - self._heard) * self._jobs
        return max(0.0, left - done) / self._jobs, done < left

    def _one_by_one(self) -> tuple[float, bool]:
        """Like `_in_a_wave`. The rest takes at least its work divided by the cores, and at least its longest run."""
        now, sure, going = self._clock(), True, list(self._going.values())
        for setting, began in going:
            if now - began > self._pace.seconds(setting):
                self._pace.takes_longer_than(setting, now - began)
                sure = False
        rest = [max(0.0, self._pace.seconds(setting) - (now - began)) for setting, began in going]
        longest = max((self._pace.seconds(each) for each, count in self._waiting.items() if count), default=0.0)
        return max((self._waiting_work() + sum(rest)) / self._jobs, longest, *rest), sure

    def _waiting_work(self) -> float:
        return sum(count * self._pace.seconds(setting) for setting, count in self._waiting.items() if count)


def spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
