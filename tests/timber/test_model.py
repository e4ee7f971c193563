"""A part of the exhaustive search, and the same search with a rule made wrong."""

from __future__ import annotations

import pytest

from tests.timber import defects
from tests.timber.model import Broken, Model


@pytest.mark.parametrize(("members", "writes"), [(2, 3), (3, 2)])
def test_every_rule_holds_in_every_state(members: int, writes: int) -> None:
    found = Model(members, writes).search(4000)
    assert found.states > 1000


def test_removals_are_reached() -> None:
    found = Model(3, 5, gathered=True).search(12_000)
    assert found.removals > 0


def test_a_wrong_rule_is_found() -> None:
    """Without it, the same search breaks none."""
    assert Model(3, 3).search(20_000).states >= 20_000
    with defects.majority_is_enough(), pytest.raises(Broken):
        Model(3, 3).search(20_000)
