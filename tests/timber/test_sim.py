"""A part of the simulation: engines over a bad network, and members that cheat."""

from __future__ import annotations

import pytest

from tests.timber.sim import outcome


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 9, 18, 28, 39, 83, 178, 224, 20005])
def test_random_worlds(seed: int) -> None:
    """T-073: "Note how this algorithm would behave if someone added new transactions while synchronization was already
    in progress."

    T-074: "you should be able to replicate event logs with safe checkpointing and state compaction."
    """
    problem, facts = outcome(seed)
    assert problem == ""
    assert facts["settled"] > 10


@pytest.mark.parametrize("seed", [2, 24])
def test_random_worlds_with_somebody_who_sends_old_packets_again(seed: int) -> None:
    problem, facts = outcome(seed, replayed=True)
    assert problem == ""
    assert facts["sent again"] > 1000
