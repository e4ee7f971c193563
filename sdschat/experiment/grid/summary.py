"""Estimates from runs: one for each setting of a sweep and each figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from sdschat.experiment.figures import FIGURES
from sdschat.experiment.grid.gridfile import Grid, Sweep
from sdschat.experiment.grid.stats import Estimate, estimate
from sdschat.experiment.runs import SimRun
from sdschat.experiment.setting import TIMES, GroupSetting, in_text


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
        rows = [[_headed(name) for name in figures]]
        rows += [[spoken(point.figures.get(name)) or "-" for name in figures] for point in points]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        head, *cells = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        said.append(f"{sweep.axis:>14}  {'':22}{head}")
        said += [f"{point.text:>14}  {point.line:22}{each}" for point, each in zip(points, cells, strict=True)]
    return said


def _headed(name: str) -> str:
    return f"{name} (s)" if FIGURES[name].unit == "s" else name


def spoken(found: Estimate | None) -> str:
    return f"{short(found.median)} ({short(found.low)} to {short(found.high)})" if found else ""


def short(value: float) -> str:
    """Return the number with three digits: the seeds allow no greater accuracy."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
