"""The results of a grid, and of a comparison of engine and model: self-contained pages, and each plot as a picture."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import altair as alt

from sdschat.audit.report.embed import Picture, Pictures, data, document, svg
from sdschat.audit.report.tables import table
from sdschat.audit.verdict import counted
from sdschat.experiment.figures import FIGURES
from sdschat.experiment.grid.compare import CHANCE, QUANTUM, Case, Compared, could_have_found, verdict_on
from sdschat.experiment.grid.gridfile import Grid, Sweep
from sdschat.experiment.grid.summary import Point, in_common, is_time, points_of, spoken
from sdschat.experiment.runs import VERSION, SimRun

_LOG_AXES: Final = ("participants", "groups", "t_min", "t_max")
_LOG_FIGURES: Final = ("copy_bytes", "answers", "requests", "duplicates_per_loss", "sync_bytes", "message_bytes")
_MUCH: Final = 20  # values that differ by more are drawn on a logarithmic axis
_MOST_LABELS: Final = 8
_ASIDE: Final = 4  # pixels between lines, so that none hides the error bars of another one
_NUMBER: Final = "format(datum.value, abs(datum.value) >= 1000 ? '~s' : '~g')"
_PAD: Final = 10  # pixels between the ends of an axis and its values
TOP: Final = alt.Legend(orient="top")
COLOURS: Final = ("#2f86e5", "#e07b2f", "#2aa876", "#a765d6", "#dd5566", "#8795a5")  # to be seen on white and on black


def sweep_picture(sweep: Sweep, points: Sequence[Point], name: str) -> Picture | None:
    """Draw a figure over the axis of a sweep, a line for each of its lines, with error bars; None without values."""
    rows = [row for point in points if (row := _row(sweep, point, name)) is not None]
    if not rows:
        return None
    lines = list(dict.fromkeys(row["line"] for row in rows))
    x, y = _across(sweep, rows), _up(name, rows)
    legend = TOP if len(lines) > 1 else None
    colour = alt.Color(
        "line:N", title=None, sort=lines, scale=alt.Scale(domain=lines, range=list(COLOURS)), legend=legend
    )
    parts: list[Picture] = []
    for at, line in enumerate(lines):
        base = alt.Chart(data([row for row in rows if row["line"] == line])).encode(x=x, color=colour)
        tips = [alt.Tooltip("says:N", title=line)]
        aside = _ASIDE * (at - (len(lines) - 1) / 2)
        parts += [
            base.mark_line(xOffset=aside).encode(y=y),
            base.mark_rule(xOffset=aside).encode(y=alt.Y("low:Q"), y2="high:Q"),
            base.mark_circle(xOffset=aside, opacity=1, size=30).encode(y=y, tooltip=tips),
        ]
    title = alt.Title(name, subtitle=FIGURES[name].says, anchor="start")
    return alt.layer(*parts).properties(width=400, height=220, title=title)


def _row(sweep: Sweep, point: Point, name: str) -> dict[str, Any] | None:
    found = point.figures.get(name)
    if found is None or not isinstance(point.at, int | float):
        return None
    at = point.at / 1000 if is_time(sweep) else float(point.at)
    values = {"y": found.median, "low": found.low, "high": found.high, "says": spoken(found)}
    return {"at": at, "line": point.line, **values}


def _across(sweep: Sweep, rows: Sequence[dict[str, Any]]) -> alt.X:
    places = sorted({row["at"] for row in rows})
    few = alt.Axis(values=places, labelExpr=_NUMBER, labelOverlap=True, grid=False)
    axis = few if len(places) <= _MOST_LABELS else alt.Axis(labelExpr=_NUMBER, labelOverlap=True, grid=False)
    title = f"{sweep.axis} (s)" if is_time(sweep) else sweep.axis
    return alt.X("at:Q", title=title, scale=_scale(places, log=sweep.axis in _LOG_AXES, zero=False), axis=axis)


def _up(name: str, rows: Sequence[dict[str, Any]]) -> alt.Y:
    """Return the axis: logarithmic if values differ much; else from zero on, so that small values look small."""
    values = [row[key] for row in rows for key in ("low", "high")]
    positive = [value for value in values if value > 0]
    log = name in _LOG_FIGURES and bool(positive) and max(positive) > _MUCH * min(positive)
    axis = alt.Axis(labelExpr=_NUMBER, values=_marks(values)) if log else alt.Axis(labelExpr=_NUMBER)
    return alt.Y("y:Q", title=FIGURES[name].unit, scale=_scale(values, log=log, zero=True), axis=axis)


def _marks(values: Sequence[float]) -> list[float]:
    """Return 1, 2, 5, 10, … as far as they are within the values: all marks of a logarithmic axis have a label."""
    low, high = min(value for value in values if value > 0), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [mark for power in powers for digit in (1, 2, 5) if low <= (mark := digit * 10.0**power) <= high]


def _scale(values: Sequence[float], *, log: bool, zero: bool) -> alt.Scale:
    if not log:
        return alt.Scale(zero=True) if zero else alt.Scale(zero=False, nice=False, padding=_PAD)
    positive = [value for value in values if value > 0] or [1.0]
    if min(values) <= 0:  # zero has a place on the axis too
        return alt.Scale(type="symlog", constant=min(positive))
    return alt.Scale(type="log", nice=False, padding=_PAD)


def write_page(grid: Grid, runs: Sequence[SimRun], folder: Path) -> list[Path]:
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
        common = f'<p class="note">All with {escape(in_common(sweep))}, {sweep.seeds} seeds of each.</p>'
        body += ["</div>", common, _table(sweep, points), "</section>"]
    page = folder / f"sim-{_plain(grid.name)}.html"
    page.write_text(document(grid.title, "\n".join(body), drawn), encoding="utf-8")
    return [page, *written]


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)


def _provenance(runs: Sequence[SimRun]) -> str:
    failed = sum(bool(run.failed) for run in runs)
    return (
        f"{counted(len(runs), 'run', 'runs')}, {failed} failed, {sum(run.wall_s for run in runs):,.0f} s of one core, "
        f"sdschat {VERSION}. Points are medians over seeds; bars bound the median with a chance of 95 % "
        "from six seeds on, and are the extremes with fewer."
    )


def _table(sweep: Sweep, points: Sequence[Point]) -> str:
    rows = []
    for point in points:
        cells = [point.text, point.line, str(max((found.n for found in point.figures.values()), default=0))]
        cells += [spoken(point.figures.get(name)) for name in sweep.figures]
        rows.append(cells)
    headings = (sweep.axis, ", ".join(sweep.lines), "seeds", *sweep.figures)
    return f"<details><summary>figures</summary>{table(headings, rows, range(len(headings)))}</details>"


_EDGE: Final = 0.5  # a difference of more than half is drawn at the edge


def comparison(found: Sequence[Compared]) -> Picture:
    """Draw the difference of the model from the engine, as a share of the engine's mean, with its error bars."""
    halves = [_forest([item for item in found if item.setting.push == push], push) for push in (True, False)]
    return alt.hconcat(*(half for half in halves if half is not None)).properties(
        title=alt.Title("The model against the engine: difference with error bars", anchor="start")
    )


def _forest(found: Sequence[Compared], push: bool) -> Picture | None:
    rows = [_difference(item) for item in found if item.found[0]]
    if not rows:
        return None
    sizes = [f"{size:,} participants" for size in sorted({item.setting.participants for item in found})]
    names = [name for name in FIGURES if any(row["figure"] == name for row in rows)]
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("figure:N", sort=names, title=None),
        yOffset=alt.YOffset("size:N", sort=sizes),
        color=alt.Color("size:N", sort=sizes, title=None, scale=alt.Scale(range=list(COLOURS)), legend=TOP),
        tooltip=[alt.Tooltip("says:N", title="difference")],
    )
    scale = alt.Scale(domain=[-_EDGE, _EDGE], clamp=True)
    axis = alt.Axis(format="+%", values=[-0.5, -0.25, 0, 0.25, 0.5])
    agrees = alt.condition("datum.agrees", alt.value(25), alt.value(110))
    return alt.layer(
        base.mark_rule(strokeWidth=1.6).encode(x=alt.X("low:Q", scale=scale, axis=axis, title=None), x2="high:Q"),
        base.mark_circle(opacity=1).encode(x="share:Q", size=agrees),
    ).properties(width=330, height=alt.Step(9), title=f"{'with' if push else 'without'} anti-entropy")


def _difference(item: Compared) -> dict[str, Any]:
    one, other, margin = item.found
    share, wide = (other - one) / abs(one), margin / abs(one)
    return {
        "figure": item.figure,
        "size": f"{item.setting.participants:,} participants",
        "share": _within(share),
        "low": _within(share - wide),
        "high": _within(share + wide),
        "agrees": item.agrees,
        "says": f"{item.setting.in_words()}: engine {one:.4g}, model {other:.4g} \u00b1{margin:.2g}",
    }


def _within(share: float) -> float:
    return max(-_EDGE, min(_EDGE, share))


def write_comparison(wanted: Sequence[Case], found: Sequence[Compared], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    title = "The model and the engine"
    verdict = verdict_on(wanted, found)
    drawn, picture = Pictures(), comparison(found)
    body = [f"<h1>{title}</h1>", f"<p><b>{verdict}</b></p>", f"<p>{escape(could_have_found(found))}</p>"]
    body += [f'<p class="note">{_how()}</p>', f"<section>{drawn.place(picture)}</section>"]
    for case in wanted:
        body += [f"<section><h2>{escape(case.setting.in_words())}</h2>", f'<p class="note">{_seeds_of(case)}</p>']
        body.append(_compared_table([item for item in found if item.setting == case.setting]) + "</section>")
    page, alone = folder / "sim-compare.html", folder / "sim-compare.svg"
    page.write_text(document(title, "\n".join(body), drawn), encoding="utf-8")
    alone.write_text(svg(picture), encoding="utf-8")
    return [page, alone]


def _how() -> str:
    return (
        f"sdschat {VERSION}. Means over seeds, which are independent and differ between the two. The error "
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
        (one, other, margin), figure = item.found, FIGURES[item.figure]
        share = f"{margin / abs(one):.1%}" if one else ""
        about = f"{figure.says} ({figure.unit})"
        rows.append([item.figure, about, f"{one:.4g}", f"{other:.4g}", f"\u00b1{margin:.2g}", share])
        rows[-1].append("" if item.agrees else "differs")
    return table(("Figure", "", "Engine", "Model", "Error bars", "Of it", ""), rows, (2, 3, 4, 5))
