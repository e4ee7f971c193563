"""The tester is tested: every planted defect is found within 500 seeds."""

from __future__ import annotations

import pytest

from sdschat.sim.runner import run_seed
from tests.sim.defects import DEFECTS

ENOUGH = 500
RAISE = ("malformed_packets_raise",)


def test_there_are_enough_defects() -> None:
    assert len(DEFECTS) >= 22


@pytest.mark.parametrize("name", DEFECTS)
def test_the_simulator_finds(name: str) -> None:
    with DEFECTS[name]():
        outcomes = (run_seed(seed, profile="plain") for seed in range(ENOUGH))
        found = next((outcome for outcome in outcomes if not outcome.good), None)
    assert found is not None, f"{name} is not found within {ENOUGH} seeds"
    if name not in RAISE:
        assert "Error in " not in found.what, f"the defect does not fit the engine any more: {found.what}"


@pytest.mark.parametrize("name", DEFECTS)
def test_the_engine_is_as_it_was_afterwards(name: str) -> None:
    with DEFECTS[name]():
        pass
    assert run_seed(0, profile="plain").good
