"""The results of a comparison of engine and model: a self-contained page, and its plot as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import altair as alt

import sdschat
from sdschat.audit.report.embed import Picture, Pictures, data, document, svg
from sdschat.audit.report.tables import table
from sdschat.audit.verdict import counted
from sdschat.experiment.figures import FIGURES
from sdschat.experiment.grid.compare import CHANCE, QUANTUM, Case, Compared, could_have_found, verdict_on
from sdschat.experiment.grid.page import COLOURS, TOP

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
        (one, other, margin), figure = item.found, FIGURES[item.figure]
        share = f"{margin / abs(one):.1%}" if one else ""
        about = f"{figure.says} ({figure.unit})"
        rows.append([item.figure, about, f"{one:.4g}", f"{other:.4g}", f"\u00b1{margin:.2g}", share])
        rows[-1].append("" if item.agrees else "differs")
    return table(("Figure", "", "Engine", "Model", "Error bars", "Of it", ""), rows, (2, 3, 4, 5))
