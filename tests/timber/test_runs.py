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


@pytest.mark.parametrize("seed", [100015, 102029, 106387, 108149])
def test_a_removal_after_a_leave_ends_the_membership_where_the_leave_does(seed: int) -> None:
    """One replica passes the leave, another learns first that the leaver was removed at a later operation."""
    problem, _ = outcome(seed)
    assert problem == ""


@pytest.mark.parametrize("seed", [100301, 107789, 109890])
def test_somebody_let_in_again_after_a_leave_gets_the_state(seed: int) -> None:
    """Nobody compacts before the newcomer has shown that it knows of the leave; its invitation comes after it."""
    problem, _ = outcome(seed)
    assert problem == ""


@pytest.mark.parametrize("seed", [245, 104198, 109058])
def test_somebody_let_in_again_names_no_more_of_its_old_operations_than_others_did(seed: int) -> None:
    """It holds some that prove its removal to it alone; others compact as soon as its invitation is settled."""
    problem, _ = outcome(seed)
    assert problem == ""
