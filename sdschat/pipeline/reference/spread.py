"""Percentiles as Spark's `percentile` has them: between two values, in proportion."""

from __future__ import annotations

import math
from collections.abc import Sequence

Three = tuple[float | None, float | None, float | None]


def percentile(ordered: Sequence[float], share: float) -> float | None:
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low, high = math.floor(place), math.ceil(place)
    if low == high or ordered[low] == ordered[high]:
        return float(ordered[low])
    return (high - place) * ordered[low] + (place - low) * ordered[high]


def within(ordered: Sequence[float], share: float) -> float:
    """The first value with which as large a share of the values is reached, as sketches have it."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def three(values: Sequence[float]) -> Three:
    """Half, 95 and 99 of a hundred."""
    ordered = sorted(values)
    return percentile(ordered, 0.5), percentile(ordered, 0.95), percentile(ordered, 0.99)
