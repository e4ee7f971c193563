"""The results of a grid as a self-contained page, and each plot also as a picture of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

import sdschat
from sdschat.audit.report.embed import Pictures, document, svg
from sdschat.audit.report.tables import table
from sdschat.audit.verdict import counted
from sdschat.experiment.grid.gridfile import Grid, Sweep
from sdschat.experiment.grid.pictures import sweep_picture
from sdschat.experiment.grid.summary import Point, points_of, short
from sdschat.experiment.runs import SimRun


def write_page(grid: Grid, runs: Sequence[SimRun], folder: Path) -> list[Path]:
    """Write the page, and a picture for each figure of each sweep. Return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    body = [f"<h1>{escape(grid.title)}</h1>", f'<p class="note">{_provenance(runs)}</p>']
    written: list[Path] = []
    drawn = Pictures()
    for sweep in grid.sweeps:
        points = points_of(sweep, runs)
        if not points:
            continue
        body += [f"<section><h2>{escape(sweep.name)}</h2>", f'<p class="note">{escape(sweep.says)}</p>']
        body.append('<div class="plots">')
        for name in sweep.figures:
            picture = sweep_picture(sweep, points, name)
            if picture is not None:
                body.append(drawn.place(picture))
                path = folder / f"sim-{_plain(grid.name)}-{_plain(sweep.name)}-{name}.svg"
                path.write_text(svg(picture), encoding="utf-8")
                written.append(path)
        body += ["</div>", _table(sweep, points), "</section>"]
    page = folder / f"sim-{_plain(grid.name)}.html"
    page.write_text(document(grid.title, "\n".join(body), drawn), encoding="utf-8")
    return [page, *written]


def _plain(name: str) -> str:
    """Return the name in a form that can be a part of a file name."""
    return re.sub(r"[^\w.-]+", "-", name)


def _provenance(runs: Sequence[SimRun]) -> str:
    failed = sum(bool(run.failed) for run in runs)
    return (
        f"{counted(len(runs), 'run', 'runs')}, {failed} failed, {sum(run.wall_s for run in runs):,.0f} s of one core, "
        f"sdschat {sdschat.__version__}. Points are medians over seeds; bars bound the median with a chance of 95 % "
        "from six seeds on, and are the extremes with fewer."
    )


def _table(sweep: Sweep, points: Sequence[Point]) -> str:
    rows = []
    for point in points:
        cells = [str(point.at), point.line, str(max((found.n for found in point.figures.values()), default=0))]
        for name in sweep.figures:
            found = point.figures.get(name)
            cells.append(f"{short(found.median)} ({short(found.low)} to {short(found.high)})" if found else "")
        rows.append([escape(cell) for cell in cells])
    headings = (sweep.axis, ", ".join(sweep.lines), "seeds", *sweep.figures)
    return f"<details><summary>figures</summary>{table(headings, rows, range(len(headings)))}</details>"
