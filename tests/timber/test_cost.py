"""The cost of one message does not grow with what waits, or with the history."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from sdschat.timber.chat import with_number, within
from sdschat.timber.values import EventBody, Kind, Spans, Submit
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


def steps(action: Callable[[], object]) -> int:
    """Return how many lines of Python an action runs, those of generators among them."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return note

    sys.settrace(note)
    try:
        action()
    finally:
        sys.settrace(None)
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


def test_an_event_costs_the_same_however_many_numbers_its_author_left_out() -> None:
    """A member may use every second number: 10,000 such events took seven seconds."""
    spans: Spans = ()

    def cost(number: int) -> int:
        nonlocal spans
        spans = with_number(spans, number)
        return steps(lambda: (within(spans, number + 1), with_number(spans, number + 2)))

    few = [cost(number) for number in range(1, 40, 2)][-1]
    assert [cost(number) for number in range(41, 4001, 2)][-1] <= few


def test_spans_are_those_of_the_numbers_in_them() -> None:
    rng = random.Random(5)
    for _ in range(100):
        numbers = [rng.randint(1, 30) for _ in range(rng.randint(0, 40))]
        spans: Spans = ()
        for number in numbers:
            spans = with_number(spans, number)
        assert {one for low, high in spans for one in range(low, high + 1)} == set(numbers)
        assert all(high + 1 < low for (_, high), (low, _) in itertools.pairwise(spans))
        assert [one for one in range(32) if within(spans, one)] == sorted(set(numbers))


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
