"""The comparison of engine and model as a self-contained page and as a picture of its own."""

from __future__ import annotations

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
from sdschat.experiment.grid.pictures import comparison, describe

_ABOUT: Final = {figure.name: figure for figure in FIGURES}


def write_comparison(wanted: Sequence[Case], found: Sequence[Compared], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    title = "The model and the engine"
    verdict = verdict_on(wanted, found)
    drawn, picture = Pictures(), comparison(found)
    body = [f"<h1>{title}</h1>", f"<p><b>{verdict}</b></p>", f"<p>{escape(could_have_found(found))}</p>"]
    body += [f'<p class="note">{_how()}</p>', f"<section>{drawn.place(picture)}</section>"]
    for case in wanted:
        body += [f"<section><h2>{escape(describe(case.setting))}</h2>", f'<p class="note">{_seeds(case)}</p>']
        body.append(_table([item for item in found if item.setting == case.setting]) + "</section>")
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


def _seeds(case: Case) -> str:
    s = case.setting
    return (
        f"{counted(case.engine_seeds, 'seed', 'seeds')} of the engine, {case.model_seeds} of the model; "
        f"{counted(s.messages, 'message', 'messages')}, one every "
        f"{s.interval / 1000:g} s, then watched for {s.tail / 1000:g} s"
    )


def _table(found: Sequence[Compared]) -> str:
    rows = []
    for item in found:
        (one, other, margin), figure = item.found, _ABOUT[item.figure]
        share = f"{margin / abs(one):.1%}" if one else ""
        about = f"{figure.says} ({figure.unit})"
        rows.append([item.figure, escape(about), f"{one:.4g}", f"{other:.4g}", f"\u00b1{margin:.2g}", share])
        rows[-1].append("" if item.agrees else "differs")
    return table(("Figure", "", "Engine", "Model", "Error bars", "Of it", ""), rows, (2, 3, 4, 5))
