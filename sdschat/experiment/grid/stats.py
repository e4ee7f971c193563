"""Estimates with their uncertainty.

Seeds are independent. No distribution of the figures is assumed, except for the mean, which has Student's interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, median
from typing import NamedTuple

LEVEL = 0.95


class Estimate(NamedTuple):
    """An estimate from several seeds.

    From six seeds on, `low` and `high` bound the median with at least the probability `LEVEL`; with fewer seeds they
    are the least and the greatest value.
    """

    n: int
    median: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the estimate, or None if there is no value at all."""
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return None
    n = len(known)
    rank = median_rank(n)
    return Estimate(n, median(known), known[rank], known[n - 1 - rank])


def median_rank(n: int) -> int:
    """Return how many values at each end can be left out so that the rest bounds the median (probability `LEVEL`)."""
    below = 0.0
    for rank in range(n // 2):
        below += math.comb(n, rank) / 2**n
        if 2 * below > 1 - LEVEL:
            return max(0, rank - 1) if rank else 0
    return max(0, n // 2 - 1)


@lru_cache(maxsize=1024)
def student(freedom: float, at: float) -> float:
    """Return the quantile of Student's distribution. It is exact also far out and for few degrees of freedom."""
    if at < 0.5:
        return -student(freedom, 1 - at)
    low, high = 0.0, 1.0
    while _student_beyond(freedom, high) > 1 - at:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_beyond(freedom, middle) > 1 - at else (low, middle)
    return (low + high) / 2


def _student_beyond(freedom: float, t: float) -> float:
    """Return the probability of a value above `t`, for `t` from 0 on."""
    return _beta_below(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2


def _beta_below(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_below(b, a, 1 - x)
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    upper, lower = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = lower
    for m in range(1, 500):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            upper, lower = 1 + term / upper, 1 / (1 + term * lower)
            found *= upper * lower
        if abs(upper * lower - 1) < 1e-14:
            break
    return scale * found


class Difference(NamedTuple):
    """The difference of the means of two samples. They agree if the difference is within `margin`."""

    one: float
    other: float
    margin: float

    @property
    def agrees(self) -> bool:
        return abs(self.one - self.other) <= self.margin


def difference(one: Sequence[float], other: Sequence[float], chance: float) -> Difference | None:
    """Compare two samples by Student's interval.

    For two samples of one distribution, the means differ by more than the margin with the probability `chance`.
    Samples of one distribution also have the same variance, so the variance comes from both together. So one sample may
    be small: even a single value can be compared with the variance of the other sample.
    """
    a = [value for value in one if not math.isnan(value)]
    b = [value for value in other if not math.isnan(value)]
    freedom = len(a) + len(b) - 2
    if not a or not b or freedom < 1:
        return None
    pooled = (_squares(a) + _squares(b)) / freedom
    if pooled == 0:
        return Difference(fmean(a), fmean(b), 1e-9 * max(1.0, abs(fmean(a))))
    margin = student(freedom, 1 - chance / 2) * math.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    return Difference(fmean(a), fmean(b), margin)


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)
