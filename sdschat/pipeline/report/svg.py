"""Shapes in SVG. Colours are CSS classes, so that the page sets them for light, dark and print."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

NOTHING: Final = "\u2013"


def tag(name: str, inner: str = "", **attributes: object) -> str:
    """Return an element. `klass` gives the attribute class, and _ in a name becomes -."""
    said = "".join(
        f' {key.replace("klass", "class").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{said}>{inner}</{name}>" if inner else f"<{name}{said}/>"


def picture(width: int, height: int, parts: Iterable[str], label: str) -> str:
    """Return a picture that scales with the page. `label` describes it for readers who cannot see it."""
    inner = tag("title", escape(label)) + "".join(parts)
    return tag("svg", inner, viewBox=f"0 0 {width} {height}", role="img", aria_label=label)


def text(x: float, y: float, words: str, klass: str = "label", anchor: str = "start") -> str:
    return tag("text", escape(words), x=num(x), y=num(y), klass=klass, text_anchor=anchor)


def rect(x: float, y: float, width: float, height: float, klass: str, tip: str = "", radius: float = 0) -> str:
    shape = {"x": num(x), "y": num(y), "width": num(max(0.0, width)), "height": num(height), "klass": klass}
    return tag("rect", tag("title", escape(tip)) if tip else "", rx=num(radius) if radius else None, **shape)


def line(x1: float, y1: float, x2: float, y2: float, klass: str) -> str:
    return tag("line", x1=num(x1), y1=num(y1), x2=num(x2), y2=num(y2), klass=klass)


def path(points: Sequence[tuple[float, float]], klass: str) -> str:
    return tag("path", d="M" + "L".join(f"{num(x)},{num(y)}" for x, y in points), klass=klass)


def dot(x: float, y: float, radius: float, klass: str, tip: str = "") -> str:
    return tag("circle", tag("title", escape(tip)) if tip else "", cx=num(x), cy=num(y), r=num(radius), klass=klass)


def num(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


class LogScale:
    """A logarithmic scale for durations: from milliseconds to hours on one axis."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low = 10 ** math.floor(math.log10(max(1.0, low)))
        self.high = max(10 ** math.ceil(math.log10(max(10.0, high))), self.low * 10)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        share = math.log10(min(max(value, self.low), self.high) / self.low) / math.log10(self.high / self.low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[float]:
        found, tick = [], float(self.low)
        while tick <= self.high:
            found.append(tick)
            tick *= 10
        return found


def duration(ms: float | None) -> str:
    if ms is None:
        return NOTHING
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if abs(ms) >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.3g} ms"


def size(count: float) -> str:
    for unit, amount in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= amount:
            return f"{count / amount:.3g} {unit}"
    return f"{count:.0f} B"
