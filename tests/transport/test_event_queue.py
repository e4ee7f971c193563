"""The queue between the socket and the channel: few events at a time, so that reading goes on, and never too much."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable

from sdschat.transport import event_queue
from sdschat.transport.base import Event, Published, Received
from sdschat.transport.event_queue import AT_ONCE, EventQueue


class Loop:
    """The steps of a loop, taken one at a time."""

    def __init__(self) -> None:
        self.steps: deque[Callable[[], None]] = deque()

    def step(self) -> None:
        self.steps.popleft()()


def queue_of(count: int, size: int = 1, look: float = 1.0) -> tuple[Loop, EventQueue, list[Event]]:
    """`look`: the seconds that pass between two looks at the clock."""
    loop, queue, handled = Loop(), EventQueue(AT_ONCE, itertools.count(0.0, look).__next__), list[Event]()
    queue.listen(handled.append)
    queue.begin(loop.steps.append)
    for number in range(count):
        queue.put(Received(f"topic/{number}", bytes(size), False))
    return loop, queue, handled


def topics(events: list[Event]) -> list[str]:
    return [event.topic for event in events if isinstance(event, Received)]


def test_the_loop_is_given_back_after_a_few_events_and_none_is_lost_or_out_of_order() -> None:
    loop, _, handled = queue_of(3 * AT_ONCE)
    loop.step()
    assert len(handled) == AT_ONCE
    loop.step()
    loop.step()
    assert topics(handled) == [f"topic/{number}" for number in range(3 * AT_ONCE)]
    assert not loop.steps


def test_events_that_take_no_time_are_handled_until_a_moment_is_over() -> None:
    loop, _, handled = queue_of(20 * AT_ONCE, look=event_queue.SHORT / AT_ONCE)
    loop.step()
    assert AT_ONCE < len(handled) <= 2 * AT_ONCE


def test_what_would_take_too_much_memory_is_handled_before_more_is_read() -> None:
    size = event_queue.KEPT // 20
    loop, _, handled = queue_of(20 + 2 * AT_ONCE, size)
    loop.step()
    assert len(handled) == 2 * AT_ONCE
    loop.step()
    assert len(handled) == 3 * AT_ONCE


def test_no_more_wait_than_some_seconds_of_work() -> None:
    loop, _, handled = queue_of(event_queue.MOST + 5 * AT_ONCE)
    loop.step()
    assert len(handled) == 5 * AT_ONCE


def test_at_the_end_everything_is_handled() -> None:
    _, queue, handled = queue_of(5 * AT_ONCE)
    queue.finish()
    assert len(handled) == 5 * AT_ONCE


def test_at_the_end_of_a_flood_few_packets_are_handled_and_all_other_events() -> None:
    _, queue, handled = queue_of(event_queue.LAST - 1)
    queue.put(Published("between"))
    for _ in range(event_queue.LAST):
        queue.put(Received("late", b"", False))
    queue.put(Published("mine"))
    queue.finish()
    assert len(topics(handled)) == event_queue.LAST
    assert handled[-3:] == [Published("between"), Received("late", b"", False), Published("mine")]
