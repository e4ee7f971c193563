"""The Lamport clock."""

from __future__ import annotations

import pytest

from sdschat.sds.events import SyncReceived
from sdschat.sds.limits import MAX_LAMPORT, out_of_bounds
from sdschat.sds.timers import LamportClock
from sdschat.sds.values import Reason
from tests.sds.group import START, Group, forge


def test_tick_takes_now_when_it_is_ahead() -> None:
    assert LamportClock(5).tick(100) == 100


def test_tick_takes_one_more_when_now_is_behind() -> None:
    assert LamportClock(100).tick(5) == 101


def test_tick_twice_within_a_millisecond_gives_two_values() -> None:
    clock = LamportClock(0)
    assert (clock.tick(7), clock.tick(7)) == (7, 8)


def test_observe_adopts_a_greater_value() -> None:
    clock = LamportClock(5)
    clock.observe(9)
    assert clock.value == 9


def test_observe_leaves_a_smaller_value_alone() -> None:
    clock = LamportClock(5)
    clock.observe(4)
    assert clock.value == 5


@pytest.mark.parametrize(
    ("lamport", "verdict"),
    [
        (-1, Reason.CLOCK_ZERO),
        (0, Reason.CLOCK_ZERO),
        (1, None),
        (MAX_LAMPORT - 1, None),
        (MAX_LAMPORT, Reason.CLOCK_TOO_LARGE),
        (2**64 - 1, Reason.CLOCK_TOO_LARGE),
    ],
)
def test_bounds(lamport: int, verdict: Reason | None) -> None:
    assert out_of_bounds(lamport) is verdict


def test_a_sync_message_that_names_what_is_newer_than_itself_is_refused() -> None:
    group = Group("a")
    group.give("a", forge("b", "m", START + 5))
    group.give("a", forge("b", "s", START + 5, "m", content=None))
    assert group["a"].refused() == [Reason.CLOCK_NOT_ABOVE_PARENT]
    assert group["a"].of(SyncReceived) == []
