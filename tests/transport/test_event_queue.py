"""The queue between the socket and the channel: few events at a time, so that reading goes on, and never too much."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sdschat.transport import event_queue
from sdschat.transport.base import Event, Received
from sdschat.transport.event_queue import AT_ONCE, EventQueue


class Loop:
    """The steps of a loop, taken one at a time."""

    def __init__(self) -> None:
        self.steps: deque[Callable[[], None]] = deque()

    def step(self) -> None:
        self.steps.popleft()()


def queue_of(count: int, size: int = 1) -> tuple[Loop, EventQueue, list[Event]]:
    loop, queue, handled = Loop(), EventQueue(AT_ONCE), list[Event]()
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
