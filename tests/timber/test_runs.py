"""A part of the random runs: what must be shown of Timber, at every step of every run."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.timber.runs import outcome


@pytest.mark.parametrize("first", [0, 40])
def test_random_runs(first: int) -> None:
    facts: Counter[str] = Counter()
    for seed in range(first, first + 40):
        problem, found = outcome(seed)
        assert problem == "", f"seed {seed}"
        facts += found
    assert facts["removed"] > 0
    assert facts["settled"] > 1000
