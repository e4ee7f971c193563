"""Estimates with their uncertainty. Seeds are independent, and nothing else is assumed of how figures are distributed
but for the mean, whose interval is Student's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, median, stdev
from typing import NamedTuple

LEVEL = 0.95


class Estimate(NamedTuple):
    """`low` and `high` bound the median with at least the chance `LEVEL`, from six seeds on; with fewer they are the
    least and the greatest seen."""

    n: int
    median: float
    low: float
    high: float
    mean: float
    margin: float  # of the mean, either way; not a number for a single seed


def estimate(values: Sequence[float]) -> Estimate | None:
    """Nothing where there is no value at all."""
    known = sorted(value for value in values if not math.isnan(value))
    if not known:
        return None
    n = len(known)
    rank = median_rank(n)
    margin = math.nan
    if n > 1:
        margin = student(n - 1, 1 - (1 - LEVEL) / 2) * stdev(known) / math.sqrt(n)
    return Estimate(n, median(known), known[rank], known[n - 1 - rank], fmean(known), margin)


def median_rank(n: int) -> int:
    """How many values at either end can be left out for the rest to bound the median with the chance `LEVEL`."""
    below = 0.0
    for rank in range(n // 2):
        below += math.comb(n, rank) / 2**n
        if 2 * below > 1 - LEVEL:
            return max(0, rank - 1) if rank else 0
    return max(0, n // 2 - 1)


def student(freedom: float, at: float) -> float:
    """The quantile of Student's distribution (Cornish-Fisher, good to a per cent from three degrees on)."""
    z = NormalDist().inv_cdf(at)
    if freedom <= 1:
        return math.tan(math.pi * (at - 0.5))
    if freedom <= 2:
        a = 4 * at * (1 - at)
        return 2 * (at - 0.5) * math.sqrt(2 / a)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / freedom ** (power + 1) for power, term in enumerate(terms))


class Difference(NamedTuple):
    """Between the means of two samples. They agree where the difference is within `margin`."""

    one: float
    other: float
    margin: float

    @property
    def agrees(self) -> bool:
        return abs(self.one - self.other) <= self.margin


def difference(one: Sequence[float], other: Sequence[float], chance: float) -> Difference | None:
    """Welch's interval: where the two have the same mean, they differ by more than the margin with this chance."""
    a = [value for value in one if not math.isnan(value)]
    b = [value for value in other if not math.isnan(value)]
    if len(a) < 2 or len(b) < 2:
        return None
    va, vb = stdev(a) ** 2 / len(a), stdev(b) ** 2 / len(b)
    if va + vb == 0:
        return Difference(fmean(a), fmean(b), 1e-9 * max(1.0, abs(fmean(a))))
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    return Difference(fmean(a), fmean(b), student(freedom, 1 - chance / 2) * math.sqrt(va + vb))
