"""One dishonest participant splits nothing and stops nobody."""

from __future__ import annotations

import pytest

from tests.byzantine.defects import DEFECTS, Defect, first_seed
from tests.byzantine.run import run


@pytest.mark.parametrize("first", range(0, 20, 5))
def test_the_honest_agree_whatever_one_of_them_signs_and_copies(first: int) -> None:
    outcomes = [run(seed) for seed in range(first, first + 5)]
    assert [problem for outcome in outcomes for problem in outcome.problems] == []
    assert all(outcome.refused > 20 for outcome in outcomes)
    assert sum(outcome.ids_only for outcome in outcomes) > 20
    assert sum(outcome.forks for outcome in outcomes) > 100
    assert sum(outcome.gaps for outcome in outcomes) > 100


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_a_fork_or_a_gap_that_is_not_shown_is_found(defect: Defect) -> None:
    assert first_seed(defect) is not None
