"""The tester is tested: every planted defect is found within 500 seeds."""

from __future__ import annotations

import pytest

from sdschat.sds.bloom.own import OwnFilter
from sdschat.sim.oracle import Masks
from sdschat.sim.runner import run_seed
from tests.sim.defects import DEFECTS

ENOUGH = 500
# With the rules as they were: the group never settled, or sent what had just been sent.
AS_THEY_WERE = {"who_joined_later_is_never_answered": "I18", "own_copies_call_no_answer_off": "I14"}
RAISE = ("malformed_packets_raise",)


def test_there_are_enough_defects() -> None:
    assert len(DEFECTS) >= 50


@pytest.mark.parametrize("name", DEFECTS)
def test_the_simulator_finds(name: str) -> None:
    with DEFECTS[name]():
        outcomes = (run_seed(seed, profile="varied" if seed % 2 else "plain") for seed in range(ENOUGH))
        found = next((outcome for outcome in outcomes if not outcome.good), None)
    assert found is not None, f"{name} is not found within {ENOUGH} seeds"
    if name not in RAISE:
        assert "Error in " not in found.what, f"the defect does not fit the engine any more: {found.what}"


@pytest.mark.parametrize("name", AS_THEY_WERE)
def test_the_rules_of_before_are_found_by_what_they_broke(name: str) -> None:
    with DEFECTS[name]():
        outcomes = (run_seed(seed, profile="plain") for seed in range(ENOUGH))
        found = next((outcome.rule for outcome in outcomes if not outcome.good), "")
    assert found == AS_THEY_WERE[name]


@pytest.mark.parametrize("name", DEFECTS)
def test_the_engine_is_as_it_was_afterwards(name: str) -> None:
    with DEFECTS[name]():
        pass
    assert run_seed(0, profile="plain").good


def test_the_oracle_sees_a_filter_that_claims_what_was_dropped() -> None:
    own, masks = OwnFilter("compact", 8, 0.01, 0), Masks(8, 0.01)
    own.add("m", 1)
    masks.add("m", 1)
    assert masks.judge(own.to_bytes(), fresh=True) == ""
    masks.drop("m")
    assert masks.judge(own.to_bytes(), fresh=True) == "claims what is not on the disk"
    assert masks.judge(own.to_bytes(), fresh=False) == ""
