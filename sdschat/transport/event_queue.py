"""A queue of events for the handler: in order, between two steps of the loop, also if the handler raises.

Where they come from a broker, only a few are handled between two steps, or more that take `SHORT` together, so that the
socket is read faster than packets are processed: a broker keeps a few that it cannot hand over, and drops the rest.
They wait here, up to `KEPT` bytes and `MOST` events: of a flood that is faster than this machine, what comes next must
not wait for minutes.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from sdschat.transport.base import Event, Handler, HandlerFailed, Received

AT_ONCE: Final = 8  # events of a broker between two steps of the loop
SHORT: Final = 0.002  # seconds
LAST: Final = 64  # packets that are handled at the end
KEPT: Final = 16 << 20  # bytes of packets; beyond, the loop reads nothing until fewer wait
MOST: Final = 8192  # events, likewise: some seconds of work

Schedule = Callable[[Callable[[], None]], object]


class EventQueue:
    """The event queue. `schedule` runs a function soon but not now: `loop.call_soon`, or a simulated network's step."""

    __slots__ = ("_at_once", "_bytes", "_clock", "_due", "_handler", "_news", "_schedule", "failures")

    def __init__(self, at_once: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """`at_once`: how many are handled between two steps, however long it takes. None: all that are there."""
        self._at_once = at_once
        self._clock = clock
        self._handler: Handler | None = None
        self._schedule: Schedule | None = None
        self._news: deque[Event] = deque()
        self._bytes = 0  # of the packets in `_news`
        self._due = False
        self.failures = 0  # number of times the handler raised

    def listen(self, handler: Handler) -> None:
        self._handler = handler

    def begin(self, schedule: Schedule) -> None:
        """Deliver events from now on, earlier ones first."""
        self._schedule = schedule
        self._arrange()

    def put(self, event: Event) -> None:
        self._news.append(event)
        self._bytes += _size(event)
        self._arrange()

    def _arrange(self) -> None:
        if self._news and not self._due and self._schedule is not None:
            self._due = True
            self._schedule(self._drain)

    def _drain(self) -> None:
        self._due = False
        # Not "while": a handler that causes a new event with each one would block the loop for ever.
        few = len(self._news) if self._at_once is None or self._schedule is None else self._at_once
        until = self._clock() + SHORT
        for handled in range(len(self._news)):
            if handled >= few and self._bytes <= KEPT and len(self._news) <= MOST and self._clock() >= until:
                break
            event = self._news.popleft()
            self._bytes -= _size(event)
            self._hand_over(event)
        self._arrange()

    def finish(self) -> None:
        """Deliver the remaining events now, but of packets only the first `LAST`: the end must not wait for a flood.
        Events that this causes are dropped."""
        self._schedule = None
        packets = itertools.count()
        self._news = deque(event for event in self._news if not isinstance(event, Received) or next(packets) < LAST)
        self._drain()
        self._news.clear()

    def _hand_over(self, event: Event) -> None:
        if self._handler is None:
            return
        try:
            self._handler(event)
        except Exception as error:
            self.failures += 1
            self._report(HandlerFailed(error, event))

    def _report(self, failed: HandlerFailed) -> None:
        assert self._handler is not None
        try:
            self._handler(failed)
        except Exception:
            self.failures += 1  # the handler fails with the report too: only this count is left


def _size(event: Event) -> int:
    return len(event.payload) if isinstance(event, Received) else 0
