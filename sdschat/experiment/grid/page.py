"""The results of a grid, and of a comparison of engine and model: self-contained pages, and each plot as a picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

import sdschat
from sdschat.audit.report.embed import Pictures, document, svg
from sdschat.audit.report.tables import table
from sdschat.audit.verdict import counted
from sdschat.experiment.figures import FIGURES
from sdschat.experiment.grid.compare import CHANCE, QUANTUM, Case, Compared, could_have_found, verdict_on
from sdschat.experiment.grid.gridfile import Grid, Sweep
from sdschat.experiment.grid.pictures import comparison, describe, sweep_picture
from sdschat.experiment.grid.summary import Point, points_of, short
from sdschat.experiment.runs import SimRun

_ABOUT: Final = {figure.name: figure for figure in FIGURES}


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


def write_comparison(wanted: Sequence[Case], found: Sequence[Compared], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    title = "The model and the engine"
    verdict = verdict_on(wanted, found)
    drawn, picture = Pictures(), comparison(found)
    body = [f"<h1>{title}</h1>", f"<p><b>{verdict}</b></p>", f"<p>{escape(could_have_found(found))}</p>"]
    body += [f'<p class="note">{_how()}</p>', f"<section>{drawn.place(picture)}</section>"]
    for case in wanted:
        body += [f"<section><h2>{escape(describe(case.setting))}</h2>", f'<p class="note">{_seeds_of(case)}</p>']
        body.append(_compared_table([item for item in found if item.setting == case.setting]) + "</section>")
    page, alone = folder / "sim-compare.html", folder / "sim-compare.svg"
    page.write_text(document(title, "\n".join(body), drawn), encoding="utf-8")
    alone.write_text(svg(picture), encoding="utf-8")
    return [page, alone]


def _how() -> str:
    return (
        f"sdschat {sdschat.__version__}. Means over seeds, which are independent and differ between the two. The error "
        "bars are those of the difference (Student), so wide that of two which are the same all figures of all "
        f"settings agree with a chance of {1 - CHANCE:.0%}. What is within {QUANTUM:.1%} agrees too, since times are "
        "quantised."
    )


def _seeds_of(case: Case) -> str:
    s = case.setting
    return (
        f"{counted(case.engine_seeds, 'seed', 'seeds')} of the engine, {case.model_seeds} of the model; "
        f"{counted(s.messages, 'message', 'messages')}, one every "
        f"{s.interval / 1000:g} s, then watched for {s.tail / 1000:g} s"
    )


def _compared_table(found: Sequence[Compared]) -> str:
    rows = []
    for item in found:
        (one, other, margin), figure = item.found, _ABOUT[item.figure]
        share = f"{margin / abs(one):.1%}" if one else ""
        about = f"{figure.says} ({figure.unit})"
        rows.append([item.figure, escape(about), f"{one:.4g}", f"{other:.4g}", f"\u00b1{margin:.2g}", share])
        rows[-1].append("" if item.agrees else "differs")
    return table(("Figure", "", "Engine", "Model", "Error bars", "Of it", ""), rows, (2, 3, 4, 5))
