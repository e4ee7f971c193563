"""Two bar charts on a logarithmic scale as SVG, legible on light and on dark."""

from __future__ import annotations

from html import escape
from math import log10
from typing import Final, NamedTuple

_COLOURS: Final = ("#2a78d6", "#c2571a", "#7a7a7a")
_LEFT, _WIDTH, _BAR, _GAP, _TOP = 190, 250, 15, 26, 64


class Bar(NamedTuple):
    group: str
    name: str
    bytes: float
    seconds: float


def chart(title: str, bars: list[Bar]) -> str:
    groups = list(dict.fromkeys(bar.group for bar in bars))
    names = list(dict.fromkeys(bar.name for bar in bars))
    height = _TOP + len(groups) * (len(names) * _BAR + _GAP) + 44
    width = _LEFT + 2 * (_WIDTH + 110)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="{escape(title)}">',
        "<style>text{fill:#222}.q{fill:#666}@media(prefers-color-scheme:dark){text{fill:#ddd}.q{fill:#aaa}}</style>",
        f'<text x="10" y="22" font-size="15">{escape(title)}</text>',
    ]
    panels = (("bytes beside the messages", [bar.bytes for bar in bars]), ("seconds", [bar.seconds for bar in bars]))
    for panel, (what, values) in enumerate(panels):
        left = _LEFT + panel * (_WIDTH + 110)
        parts.append(f'<text class="q" x="{left}" y="46">{what} (logarithmic)</text>')
        parts += _panel(bars, values, groups, names, left, with_names=panel == 0)
    parts += _legend(names, height)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(
    bars: list[Bar], values: list[float], groups: list[str], names: list[str], left: int, *, with_names: bool
) -> list[str]:
    low, high = log10(min(values)) - 0.3, log10(max(values))
    parts = []
    for bar, value in zip(bars, values, strict=True):
        group, place = groups.index(bar.group), names.index(bar.name)
        y = _TOP + group * (len(names) * _BAR + _GAP) + place * _BAR
        length = max(2.0, (log10(value) - low) / (high - low) * _WIDTH)
        parts.append(
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{_BAR - 3}" fill="{_COLOURS[place]}"/>'
            f'<text x="{left + length + 5:.1f}" y="{y + 10}">{_number(value)}</text>'
        )
        if with_names and not place:
            parts.append(f'<text x="{left - 10}" y="{y + 25}" text-anchor="end">{escape(bar.group)}</text>')
    return parts


def _legend(names: list[str], height: int) -> list[str]:
    parts, x = [], 10
    for name, colour in zip(names, _COLOURS, strict=False):
        parts.append(f'<rect x="{x}" y="{height - 24}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="{height - 14}">{escape(name)}</text>')
        x += 40 + 7 * len(name)
    return parts


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
