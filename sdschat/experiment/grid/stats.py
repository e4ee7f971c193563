"""Estimates with their uncertainty. Seeds are independent; only means are given a distribution, Student's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

LEVEL = 0.95
_STEPS = 500_001


class Estimate(NamedTuple):
    """An estimate from several seeds. From six on, `low` and `high` bound the median with a probability of at least
    `LEVEL`; with fewer they are the least and the greatest value."""

    n: int
    median: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate | None:
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
    """Return the quantile of Student's distribution, also far out and for few degrees of freedom to six digits."""
    # With a value as the tangent of an angle times the root of the degrees, the density is a power of its cosine.
    angles = np.linspace(-np.pi / 2, np.pi / 2, _STEPS)
    density = np.cos(angles) ** (freedom - 1)
    below = np.concatenate(([0.0], np.cumsum(density[1:] + density[:-1])))
    return float(np.sqrt(freedom) * np.tan(np.interp(at, below / below[-1], angles)))


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

    For two samples of one distribution, the means differ by more than the margin with the probability `chance`. The
    variance comes from both together, so one sample may be small, even a single value.
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
