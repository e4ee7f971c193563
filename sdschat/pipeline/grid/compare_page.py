"""The comparison of engine and model as a self-contained page and as a picture of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

import sdschat
from sdschat.audit.verdict import counted
from sdschat.pipeline.grid.compare import CHANCE, QUANTUM, Case, Compared, could_have_found, verdict_on
from sdschat.pipeline.grid.figures import FIGURES
from sdschat.pipeline.grid.page import CSS
from sdschat.pipeline.grid.setting import GroupSetting
from sdschat.pipeline.grid.svg import STYLE

_ABOUT: Final = {figure.name: figure for figure in FIGURES}
_WIDTH, _LEFT, _PANEL, _GAP, _TOP, _ROW, _LANE = 900, 136, 362, 26, 76, 30, 8
_EDGE: Final = 0.5  # a difference of more than half is drawn at the edge


def write_comparison(wanted: Sequence[Case], found: Sequence[Compared], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    title = "The model and the engine"
    verdict = verdict_on(wanted, found)
    body = [f"<h1>{title}</h1>", f"<p><b>{verdict}</b></p>", f"<p>{escape(could_have_found(found))}</p>"]
    body += [f'<p class="faint">{_how()}</p>', forest(found, False)]
    for case in wanted:
        body += [f"<h2>{escape(describe(case.setting))}</h2>", f'<p class="faint">{_seeds(case)}</p>']
        body.append(_table([item for item in found if item.setting == case.setting]))
    page, picture = folder / "sim-compare.html", folder / "sim-compare.svg"
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
    page.write_text(f"{head}<style>{CSS}{STYLE}</style>\n" + "\n".join(body) + "</html>\n", encoding="utf-8")
    picture.write_text(forest(found, True), encoding="utf-8")
    return [page, picture]


def describe(setting: GroupSetting) -> str:
    with_it = "with" if setting.push else "without"
    return f"{setting.participants:,} participants, {setting.loss:.0%} loss, {with_it} anti-entropy"


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
        one, other, margin = item.found
        share = f"{margin / abs(one):.1%}" if one else ""
        cells = [f"{one:.4g}", f"{other:.4g}", f"±{margin:.2g}", share, "" if item.agrees else "differs"]
        figure = _ABOUT[item.figure]
        rows.append(
            f'<tr><td>{item.figure}<td class="l faint">{escape(figure.says)} ({escape(figure.unit)})'
            + "".join(f"<td>{cell}" for cell in cells)
        )
    return f"<table><tr><th>figure<th><th>engine<th>model<th>error bars<th>of it<th>{''.join(rows)}</table>"


def forest(found: Sequence[Compared], style: bool) -> str:
    """Draw the model's difference from the engine in per cent of the engine's mean, with its error bars."""
    sizes = list(dict.fromkeys(item.setting.participants for item in found))
    names = [figure.name for figure in FIGURES if any(item.figure == figure.name for item in found)]
    floor = _TOP + _ROW * len(names)
    title = "The model against the engine: difference in per cent, with error bars"
    parts = [
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {floor + 44}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>" if style else "",
        f'<text class="t" x="{_LEFT}" y="18">{title}</text>',
        *_legend(sizes),
        *(part for row, name in enumerate(names) for part in _row(name, _TOP + _ROW * row)),
    ]
    for panel, push in enumerate((True, False)):
        left = _LEFT + panel * (_PANEL + _GAP)
        parts += _axis(left, floor, "with anti-entropy" if push else "without anti-entropy")
        for item in found:
            if item.setting.push == push:
                lane = sizes.index(item.setting.participants)
                middle = _TOP + _ROW * (names.index(item.figure) + 0.5)
                parts += _mark(item, left, middle + (lane - (len(sizes) - 1) / 2) * _LANE, lane)
    return "\n".join(part for part in [*parts, "</svg>"] if part)


def _row(name: str, top: float) -> list[str]:
    return [
        f'<text x="{_LEFT - 10}" y="{top + _ROW / 2 + 4}" text-anchor="end">{name}</text>',
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 14}" y1="{top + _ROW}" y2="{top + _ROW}"/>',
    ]


def _legend(sizes: Sequence[int]) -> list[str]:
    parts, x = [], _LEFT
    for at, size in enumerate(sizes):
        text = f"{size:,} participants"
        parts.append(f'<line class="c{at % 6}" x1="{x}" x2="{x + 14}" y1="34" y2="34" stroke-width="2"/>')
        parts.append(f'<text x="{x + 19}" y="38">{text}</text>')
        x += 40 + 7 * len(text)
    return parts


def _axis(left: float, floor: float, title: str) -> list[str]:
    parts = [f'<text class="t" x="{left + _PANEL / 2}" y="62" text-anchor="middle">{title}</text>']
    for tick in (-0.5, -0.25, 0.0, 0.25, 0.5):
        x = _place(left, tick)
        parts.append(f'<line class="{"grid" if tick else "axis"}" x1="{x}" x2="{x}" y1="{_TOP}" y2="{floor}"/>')
        text = f"{tick:+.0%}" if tick else "engine"
        parts.append(f'<text x="{x}" y="{floor + 18}" text-anchor="middle">{text}</text>')
    return parts


def _place(left: float, share: float) -> float:
    return round(left + _PANEL * (0.5 + max(-_EDGE, min(_EDGE, share)) / (2 * _EDGE) * 0.94), 1)


def _mark(item: Compared, left: float, y: float, colour: int) -> list[str]:
    one, other, margin = item.found
    if not one:
        return []
    share, wide = (other - one) / abs(one), margin / abs(one)
    low, high = _place(left, share - wide), _place(left, share + wide)
    radius = 2.6 if item.agrees else 5.0
    title = f"{item.figure}, {describe(item.setting)}: engine {one:.4g}, model {other:.4g} ±{margin:.2g}"
    return [
        f'<line class="c{colour % 6}" x1="{low}" x2="{high}" y1="{y:.1f}" y2="{y:.1f}" stroke-width="1.6"/>',
        f'<circle class="f{colour % 6}" cx="{_place(left, share)}" cy="{y:.1f}" r="{radius}">'
        f"<title>{escape(title)}</title></circle>",
    ]
