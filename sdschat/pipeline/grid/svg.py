"""Line plots as SVG, without a library: light or dark by the reader's preference, and readable in print.

Every point has its error bar. Axes may be logarithmic; zero is then at the left end, marked as zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 520
HEIGHT: Final = 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 58, 44
_PAD: Final = 8  # between an axis and the first point
_APART: Final = 34  # between labels below an axis
_ASIDE: Final = 4
_MUCH: Final = 20
_COLOURS: Final = ("#0b6bcb", "#c2571a", "#1a7f52", "#8a3ab9", "#b0273b", "#6b7280")
_DARK: Final = ("#6cb2ff", "#f2a065", "#5fd39f", "#cf9bff", "#ff8f9c", "#aab2bf")
STYLE: Final = (
    "svg.plot{background:var(--paper,#fff);font:12px system-ui,sans-serif}"
    ".plot text{fill:#333}.plot .axis{stroke:#888}.plot .grid{stroke:#ddd}.plot .t{font-weight:600}"
    + "".join(f".plot .c{at}{{stroke:{colour}}}.plot .f{at}{{fill:{colour}}}" for at, colour in enumerate(_COLOURS))
    + "@media (prefers-color-scheme:dark){svg.plot{background:var(--paper,#16181c)}.plot text{fill:#ddd}"
    ".plot .axis{stroke:#777}.plot .grid{stroke:#333}"
    + "".join(f".plot .c{at}{{stroke:{colour}}}.plot .f{at}{{fill:{colour}}}" for at, colour in enumerate(_DARK))
    + "}"
)


class Dot(NamedTuple):
    x: float
    y: float
    low: float
    high: float


class Line(NamedTuple):
    name: str
    dots: Sequence[Dot]


class Axis(NamedTuple):
    label: str
    log: bool = False


def plot(name: str, says: str, x: Axis, y: Axis, lines: Sequence[Line], style: bool = True) -> str:
    """Draw a plot. `style`: include the styles, for a picture that stands alone; a page has `STYLE` once."""
    dots = [dot for line in lines for dot in line.dots]
    if not dots:
        return ""
    across = _across([dot.x for dot in dots], x.log)
    up = _up([value for dot in dots for value in (dot.low, dot.high)], y.log)
    parts = [
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(name)}: {escape(says)}</title>",
        f"<style>{STYLE}</style>" if style else "",
        f'<text class="t" x="{_LEFT}" y="15">{escape(name)}</text>',
        f'<text x="{_LEFT}" y="30">{escape(says)}</text>',
        *_ticks(across, up, x, y),
        *(
            part
            for at, line in enumerate(lines)
            for part in _line(at % len(_COLOURS), line, across, up, _ASIDE * (at - (len(lines) - 1) / 2))
        ),
        *_legend(lines),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


class _Scale(NamedTuple):
    place: Callable[[float], float]
    ticks: Sequence[float]


def _across(values: Sequence[float], log: bool) -> _Scale:
    """Return the x scale. Its ticks are the values themselves, if these are far enough apart for their labels."""
    places = sorted(set(values))
    if len(places) == 1:  # a single value gives no distance to other values
        return _Scale(lambda value: (_LEFT + WIDTH - _RIGHT) / 2, places)
    scale = _scale(values, log, _LEFT + _PAD, WIDTH - _RIGHT)
    apart = [scale.place(right) - scale.place(left) for left, right in itertools.pairwise(places)]
    return scale._replace(ticks=places) if apart and min(apart) >= _APART else scale


def _up(values: Sequence[float], log: bool) -> _Scale:
    """Return the y scale: logarithmic if values differ much; else from zero on, so that small values look small."""
    positive = [value for value in values if value > 0]
    log = log and bool(positive) and max(positive) > _MUCH * min(positive)
    return _scale(values, log, HEIGHT - _BOTTOM - (_PAD if log else 0), _TOP, not log)


def _scale(values: Sequence[float], log: bool, start: float, end: float, from_zero: bool = False) -> _Scale:
    if log:
        return _log_scale(values, start, end)
    low, high = min(values), max(values)
    if from_zero:
        low = min(0.0, low)
    if high - low < 1e-12:
        high = low + 1.0
    step = _step(high - low)
    first = math.floor(low / step) * step
    count = math.ceil((high - first) / step - 1e-9)
    top = first + count * step
    return _Scale(
        lambda value: start + (value - first) / (top - first) * (end - start),
        [first + at * step for at in range(count + 1)],
    )


def _log_scale(values: Sequence[float], start: float, end: float) -> _Scale:
    positive = [value for value in values if value > 0] or [1.0]
    least, most = math.log10(min(positive)), math.log10(max(positive))
    if min(values) <= 0:
        least -= 0.5
    least, most = (least - 0.5, most + 0.5) if most - least < 0.1 else (least, most)

    def place(value: float) -> float:
        at = math.log10(value) if value > 0 else least
        return start + (max(at, least) - least) / (most - least) * (end - start)

    decades = range(math.floor(least), math.ceil(most) + 1)
    factors = (1, 2, 5) if most - least < 2.5 else (1,)
    ticks = [factor * 10.0**power for power in decades for factor in factors]
    ticks = [tick for tick in ticks if least - 1e-9 <= math.log10(tick) <= most + 1e-9]
    return _Scale(place, [0.0, *ticks] if min(values) <= 0 else ticks)


def _step(span: float) -> float:
    rough = span / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough - 1e-12)


def number(value: float) -> str:
    if value == 0:
        return "0"
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"


def _ticks(across: _Scale, up: _Scale, x: Axis, y: Axis) -> list[str]:
    floor = HEIGHT - _BOTTOM
    parts = []
    for tick in up.ticks:
        at = up.place(tick)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick in across.ticks:
        at = across.place(tick)
        parts.append(f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{floor}" y2="{floor + 4}"/>')
        parts.append(f'<text x="{at:.1f}" y="{floor + 17}" text-anchor="middle">{number(tick)}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{floor}" y2="{floor}"/>')
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x.label)}</text>')
    half = (_TOP + floor) / 2
    parts.append(
        f'<text x="14" y="{half}" text-anchor="middle" transform="rotate(-90 14 {half})">{escape(y.label)}</text>'
    )
    return parts


def _line(at: int, line: Line, across: _Scale, up: _Scale, aside: float) -> list[str]:
    """Draw a line, moved a little to the side, so that no line hides another one's error bars."""
    dots = sorted(line.dots)
    path = " ".join(f"{across.place(dot.x) + aside:.1f},{up.place(dot.y):.1f}" for dot in dots)
    parts = [f'<polyline class="c{at}" fill="none" stroke-width="1.8" points="{path}"/>']
    for dot in dots:
        x = across.place(dot.x) + aside
        low, high = up.place(dot.low), up.place(dot.high)
        parts.append(f'<line class="c{at}" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>')
        parts.append(f'<circle class="f{at}" cx="{x:.1f}" cy="{up.place(dot.y):.1f}" r="3">')
        parts.append(
            f"<title>{escape(line.name)}: {number(dot.y)} ({number(dot.low)} to {number(dot.high)})</title></circle>"
        )
    return parts


def _legend(lines: Sequence[Line]) -> list[str]:
    if len(lines) < 2:
        return []
    parts, x = [], _LEFT
    for at, line in enumerate(lines):
        colour = at % len(_COLOURS)
        parts.append(f'<line class="c{colour}" x1="{x}" x2="{x + 14}" y1="43" y2="43" stroke-width="2"/>')
        parts.append(f'<text x="{x + 18}" y="47">{escape(line.name)}</text>')
        x += 30 + int(6.6 * len(line.name))
    return parts
