"""The cost of one message does not grow with what waits, or with the history."""

from __future__ import annotations

import sys
from collections.abc import Callable

from sdschat.timber.values import EventBody, Kind, Submit
from tests.timber.group import Group
from tests.timber.world import signed_event


def calls(action: Callable[[], object]) -> int:
    """Return how many functions an action calls; each step of a generator is one."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def test_an_event_costs_the_same_however_many_wait_to_be_written() -> None:
    group = Group("alice", "bob", "carol", stagger=3_600_000, redundancy=1)
    carol = group["carol"]

    def submitted(number: int) -> Submit:
        body = EventBody(Kind.SAY, carol.engine.me or 0, number, 0, f"post {number}")
        return Submit((signed_event(group.data_set, carol.key, body),))

    def cost(number: int) -> int:
        message = submitted(number)
        return calls(lambda: group["bob"].engine.receive(carol.id, message, group.now))

    numbers = iter(range(100, 10_000))
    few = min(cost(next(numbers)) for _ in range(10))
    for _ in range(500):
        group["bob"].engine.receive(carol.id, submitted(next(numbers)), group.now)
    assert min(cost(next(numbers)) for _ in range(10)) <= few + 5


def test_the_delivery_of_a_post_costs_the_same_however_many_are_not_settled() -> None:
    group = Group("alice", "bob", "carol", rounds=1000)
    group["bob"].up = group["carol"].up = False
    alice = group["alice"]

    def cost_behind(more: int) -> int:
        name = None
        for at in range(more):
            name = alice.engine.say(f"post {at}", group.now)
            group.carry(alice)
        group.settle(15_000)
        assert name is not None
        assert alice.engine.delivery(name).word == "written"
        return calls(lambda: alice.engine.delivery(name))

    few = cost_behind(10)
    assert cost_behind(300) <= few
    assert len(alice.engine.operations()) > 300
