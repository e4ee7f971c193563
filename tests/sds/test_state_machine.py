"""A pair and a triple of engines, with whatever Hypothesis can think of happening to them."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.sds.machine import GroupMachine


class PairMachine(GroupMachine):
    size = 2


class TripleMachine(GroupMachine):
    size = 3


_SMALL = settings(
    max_examples=40, stateful_step_count=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
TestPair = PairMachine.TestCase
TestPair.settings = _SMALL
TestTriple = TripleMachine.TestCase
TestTriple.settings = _SMALL
