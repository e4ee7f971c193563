"""Estimates from runs with their uncertainty: one for each setting of a sweep and each figure.

Seeds are independent; only means are given a distribution, Student's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import fmean, median
from typing import Any, Final, NamedTuple

import numpy as np

from sdschat.experiment.figures import FIGURES
from sdschat.experiment.grid.gridfile import Grid, Sweep
from sdschat.experiment.runs import SimRun
from sdschat.experiment.setting import TIMES, GroupSetting, in_text

LEVEL = 0.95
_STEPS = 500_001


class Estimate(NamedTuple):
    """An estimate from several seeds. From six on, `low` and `high` bound the median with a probability of at least
    `LEVEL`; with fewer they are the least and the greatest value."""

    n: int
    median: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate | None:
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return None
    n = len(known)
    rank = median_rank(n)
    return Estimate(n, median(known), known[rank], known[n - 1 - rank])


def median_rank(n: int) -> int:
    """Return how many values at each end can be left out so that the rest bounds the median (probability `LEVEL`)."""
    below = 0.0
    for rank in range(n // 2):
        below += math.comb(n, rank) / 2**n
        if 2 * below > 1 - LEVEL:
            return max(0, rank - 1) if rank else 0
    return max(0, n // 2 - 1)


@lru_cache(maxsize=1024)
def student(freedom: float, at: float) -> float:
    """Return the quantile of Student's distribution, also far out and for few degrees of freedom to six digits."""
    # With a value as the tangent of an angle times the root of the degrees, the density is a power of its cosine.
    angles = np.linspace(-np.pi / 2, np.pi / 2, _STEPS)
    density = np.cos(angles) ** (freedom - 1)
    below = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    return float(np.sqrt(freedom) * np.tan(np.interp(at, below / below[-1], angles)))


class Difference(NamedTuple):
    """The difference of the means of two samples. They agree if the difference is within `margin`."""

    one: float
    other: float
    margin: float

    @property
    def agrees(self) -> bool:
        return abs(self.one - self.other) <= self.margin


def difference(one: Sequence[float], other: Sequence[float], chance: float) -> Difference | None:
    """Compare two samples by Student's interval.

    For two samples of one distribution, the means differ by more than the margin with the probability `chance`. The
    variance comes from both together, so one sample may be small, even a single value.
    """
    a = [value for value in one if not math.isnan(value)]
    b = [value for value in other if not math.isnan(value)]
    freedom = len(a) + len(b) - 2
    if not a or not b or freedom < 1:
        return None
    pooled = (_squares(a) + _squares(b)) / freedom
    if pooled == 0:
        return Difference(fmean(a), fmean(b), 1e-9 * max(1.0, abs(fmean(a))))
    margin = student(freedom, 1 - chance / 2) * math.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    return Difference(fmean(a), fmean(b), margin)


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


class Point(NamedTuple):
    """One setting of a sweep. `at`: its value on the axis, `text`: as tables say it; `line`: its line of the plot."""

    setting: GroupSetting
    at: Any
    text: str
    line: str
    figures: dict[str, Estimate]


def points_of(sweep: Sweep, runs: Iterable[SimRun]) -> list[Point]:
    found: dict[str, list[SimRun]] = defaultdict(list)
    for run in runs:
        if not run.failed and run.seed < sweep.seeds:
            found[run.setting_id].append(run)
    points = []
    for setting in sweep.settings:
        rows = [run.numbers for run in found.get(setting.key(), [])]
        if rows:
            names = dict.fromkeys(name for row in rows for name in row)
            figures = {name: estimate([row[name] for row in rows if name in row]) for name in names}
            known = {name: value for name, value in figures.items() if value is not None}
            at = getattr(setting, sweep.axis)
            points.append(Point(setting, at, in_text(sweep.axis, at), line_of(sweep, setting), known))
    return points


def in_common(sweep: Sweep) -> str:
    """Return the values that all settings of a sweep have, as options of `--with` say them."""
    each = [setting.in_full().split() for setting in sweep.settings]
    return " ".join(value for value in each[0] if all(value in other for other in each))


def is_time(sweep: Sweep) -> bool:
    return sweep.axis in TIMES


def line_of(sweep: Sweep, setting: GroupSetting) -> str:
    return ", ".join(_of_setting(name, getattr(setting, name)) for name in sweep.lines)


_SWITCHES: Final = {"push": "anti-entropy", "repair": "repair"}


def _of_setting(name: str, value: Any) -> str:
    if name in _SWITCHES:
        return f"{'with' if value else 'without'} {_SWITCHES[name]}"
    if name == "loss":
        return f"{value:.0%} loss"
    if name == "groups":
        return "groups of 128" if value == 0 else f"{value} group{'s' if value > 1 else ''}"
    if name in TIMES:
        return f"{name} {in_text(name, value)}"
    return f"{name} {value}" if isinstance(value, int | float) else str(value)


def table_lines(grid: Grid, runs: Sequence[SimRun]) -> list[str]:
    said: list[str] = []
    for sweep in grid.sweeps:
        points = points_of(sweep, runs)
        if not points:
            continue
        figures = sweep.figures
        said += ["", f"{sweep.name}: {sweep.says}" if sweep.says else sweep.name]
        rows = [[f"{name} (s)" if FIGURES[name].unit == "s" else name for name in figures]]
        rows += [[spoken(point.figures.get(name)) or "-" for name in figures] for point in points]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        head, *cells = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        said.append(f"{sweep.axis:>14}  {'':22}{head}")
        said += [f"{point.text:>14}  {point.line:22}{each}" for point, each in zip(points, cells, strict=True)]
    return said


def spoken(found: Estimate | None) -> str:
    return f"{short(found.median)} ({short(found.low)} to {short(found.high)})" if found else ""


def short(value: float) -> str:
    """Return the number with three digits: the seeds allow no greater accuracy."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
