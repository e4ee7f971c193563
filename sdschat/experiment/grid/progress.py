"""The progress of a grid, and an estimate of the remaining time from similar runs in this grid or an earlier one."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sdschat.audit.problem import PipelineProblem
from sdschat.experiment.grid.gridfile import EACH, Run, cost
from sdschat.experiment.runs import SimRun
from sdschat.experiment.setting import GroupSetting, setting_of

_ALIKE: Final = 3.0  # a run of half or twice the size has 2**-3 of the weight of a run of the same size


class _Kind(NamedTuple):
    """The kind of a run. Runs of different kinds use different algorithms, so their times differ."""

    by: str
    one_by_one: bool
    push: bool


@dataclass(slots=True)
class _Measured:
    """The runs of one setting: their measured and their expected seconds on one core."""

    participants: int
    seconds: float = 0.0
    expected: float = 0.0
    count: int = 0


@dataclass(slots=True)
class Pace:
    _measured: dict[_Kind, dict[GroupSetting, _Measured]] = field(default_factory=lambda: defaultdict(dict))
    _known: dict[GroupSetting, float] = field(default_factory=dict)  # cache of `seconds`, cleared by new measurements
    _least: dict[_Kind, float] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[SimRun]) -> Pace:
        pace = cls()
        settings: dict[str, GroupSetting | None] = {}
        for row in rows:
            if row.setting_id not in settings:
                settings[row.setting_id] = _setting(row)
            setting = settings[row.setting_id]
            if setting is not None and not row.failed:
                pace.took(setting, row.wall_s)
        return pace

    def took(self, setting: GroupSetting, seconds: float) -> None:
        found = self._measured[_kind(setting)].setdefault(setting, _Measured(setting.participants))
        found.seconds += seconds
        found.expected += cost(setting)
        found.count += 1
        self._least.pop(_kind(setting), None)  # a measurement replaces the lower bound
        self._known.clear()

    def takes_longer_than(self, setting: GroupSetting, seconds: float) -> None:
        """Record that a run of this setting still goes on: runs of its kind will not take less either."""
        kind, least = _kind(setting), seconds / cost(setting)
        if least > self._least.get(kind, 0.0):
            self._least[kind] = least
            self._known.clear()

    def seconds(self, setting: GroupSetting) -> float:
        """Return the expected seconds on one core."""
        if setting not in self._known:
            self._known[setting] = cost(setting) * self._factor(setting)
        return self._known[setting]

    def _factor(self, setting: GroupSetting) -> float:
        """Return the ratio of measured to expected seconds.

        It comes from runs of the same setting, else of the same kind weighted by similar size, else of any kind.
        """
        kind = _kind(setting)
        of_kind = self._measured.get(kind, {})
        same = of_kind.get(setting)
        if same is not None:
            return same.seconds / same.expected
        some = list(of_kind.values()) or [each for group in self._measured.values() for each in group.values()]
        weights = [_likeness(each.participants, setting.participants) for each in some]
        whole = sum(weights)
        mean = sum(w * each.seconds / each.expected for w, each in zip(weights, some, strict=True))
        return max(mean / whole if whole else 1.0, self._least.get(kind, 0.0))


def _likeness(one: int, other: int) -> float:
    return math.pow(one / other if one < other else other / one, _ALIKE)


def _kind(setting: GroupSetting) -> _Kind:
    return _Kind(setting.by, setting.by == "model" and setting.participants <= EACH, setting.push)


def _setting(row: SimRun) -> GroupSetting | None:
    """Return the setting of a run, or None for a setting this version no longer has."""
    try:
        return setting_of(json.loads(row.setting))
    except (PipelineProblem, ValueError):
        return None


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
