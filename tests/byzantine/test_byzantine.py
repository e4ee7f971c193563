"""One dishonest participant splits nothing and stops nobody."""

from __future__ import annotations

import pytest

from tests.byzantine.run import run


@pytest.mark.parametrize("first", range(0, 20, 5))
def test_the_honest_agree_whatever_one_of_them_signs_and_copies(first: int) -> None:
    outcomes = [run(seed) for seed in range(first, first + 5)]
    assert [problem for outcome in outcomes for problem in outcome.problems] == []
    assert all(outcome.refused > 20 for outcome in outcomes)
    assert sum(outcome.ids_only for outcome in outcomes) > 20
