"""Percentiles as in Spark's `percentile`: interpolated between two values."""

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
    """Return the first value that covers this share of the values, as sketches compute it."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def three(values: Sequence[float]) -> Three:
    """Return the 50th, 95th and 99th percentile."""
    ordered = sorted(values)
    return percentile(ordered, 0.5), percentile(ordered, 0.95), percentile(ordered, 0.99)
