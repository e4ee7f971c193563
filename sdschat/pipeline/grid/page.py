"""The results of a grid as a self-contained page, and each plot also as a picture of its own."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

import sdschat
from sdschat.audit.verdict import counted
from sdschat.pipeline.grid.figures import FIGURES
from sdschat.pipeline.grid.gridfile import Grid, Sweep
from sdschat.pipeline.grid.runs import SimRun
from sdschat.pipeline.grid.summary import Point, points_of, short
from sdschat.pipeline.grid.svg import STYLE, Axis, Dot, Line, plot

_ABOUT: Final = {figure.name: figure for figure in FIGURES}
_LOG_AXES: Final = ("participants", "groups", "t_min", "t_max")
_TIMES: Final = ("t_min", "t_max", "interval", "latency", "sync_interval", "warm_up", "tail")  # in milliseconds
_LOG_FIGURES: Final = ("copy_bytes", "answers", "requests", "duplicates_per_loss", "sync_bytes", "message_bytes")
CSS: Final = """
:root{color-scheme:light dark;--paper:#fff;--ink:#222;--faint:#777}
@media (prefers-color-scheme:dark){:root{--paper:#16181c;--ink:#ddd;--faint:#999}}
body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;max-width:1120px;margin:2em auto;
padding:0 1em}h1{font-size:1.5em}h2{font-size:1.15em;margin:2em 0 .2em}p{margin:.3em 0}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(420px,1fr));gap:1em}
table{border-collapse:collapse;font:13px ui-monospace,monospace}td,th{padding:.1em .8em;text-align:right}
td.l{text-align:left}.faint,summary{color:var(--faint)}
@media print{details{display:none}.plots{grid-template-columns:1fr 1fr}}
"""


def write_page(grid: Grid, runs: Sequence[SimRun], folder: Path) -> list[Path]:
    """Write the page, and a picture for each figure of each sweep. Return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    body = [f"<h1>{escape(grid.title)}</h1>", f'<p class="faint">{_provenance(runs)}</p>']
    written: list[Path] = []
    for sweep in grid.sweeps:
        points = points_of(sweep, runs)
        if not points:
            continue
        body += [f"<h2>{escape(sweep.name)}</h2>", f"<p>{escape(sweep.says)}</p>", '<div class="plots">']
        for name in _figures(sweep):
            picture = draw(sweep, points, name, style=False)
            if picture:
                body.append(picture)
                path = folder / f"sim-{_plain(grid.name)}-{_plain(sweep.name)}-{name}.svg"
                path.write_text(draw(sweep, points, name), encoding="utf-8")
                written.append(path)
        body += ["</div>", _table(sweep, points)]
    page = folder / f"sim-{_plain(grid.name)}.html"
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(grid.title)}</title>"
    page.write_text(f"{head}<style>{CSS}{STYLE}</style>\n" + "\n".join(body) + "</html>\n", encoding="utf-8")
    return [page, *written]


def _plain(name: str) -> str:
    """Return the name in a form that can be a part of a file name."""
    return re.sub(r"[^\w.-]+", "-", name)


def _figures(sweep: Sweep) -> Sequence[str]:
    return sweep.figures


def draw(sweep: Sweep, points: Sequence[Point], name: str, style: bool = True) -> str:
    lines: dict[str, list[Dot]] = defaultdict(list)
    for point in points:
        found = point.figures.get(name)
        if found is not None and isinstance(point.at, int | float):
            at = point.at / 1000 if sweep.axis in _TIMES else float(point.at)
            lines[point.line].append(Dot(at, found.median, found.low, found.high))
    figure = _ABOUT[name]
    label = f"{sweep.axis} (s)" if sweep.axis in _TIMES else sweep.axis
    return plot(
        name,
        figure.says,
        Axis(label, sweep.axis in _LOG_AXES),
        Axis(figure.unit, name in _LOG_FIGURES),
        [Line(line, dots) for line, dots in lines.items()],
        style,
    )


def _provenance(runs: Sequence[SimRun]) -> str:
    failed = sum(bool(run.failed) for run in runs)
    return (
        f"{counted(len(runs), 'run', 'runs')}, {failed} failed, {sum(run.wall_s for run in runs):,.0f} s of one core, "
        f"sdschat {sdschat.__version__}. Points are medians over seeds; bars bound the median with a chance of 95 % "
        "from six seeds on, and are the extremes with fewer."
    )


def _table(sweep: Sweep, points: Sequence[Point]) -> str:
    names = _figures(sweep)
    head = "".join(f"<th>{escape(name)}" for name in (sweep.axis, ", ".join(sweep.lines), "seeds", *names))
    rows = []
    for point in points:
        cells = [str(point.at), point.line, str(max((found.n for found in point.figures.values()), default=0))]
        for name in names:
            found = point.figures.get(name)
            cells.append(f"{short(found.median)} ({short(found.low)}–{short(found.high)})" if found else "–")  # noqa: RUF001
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}" for cell in cells))
    return f"<details><summary>figures</summary><table><tr>{head}{''.join(rows)}</table></details>"
