"""Hands facts to the handler: in order, between two steps of the loop, and whatever the handler does."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from sdschat.transport.base import Event, Handler, HandlerFailed

Schedule = Callable[[Callable[[], None]], object]


class Notifier:
    """`schedule` runs something soon, but not now: `loop.call_soon`, or the step of a simulated network."""

    __slots__ = ("_due", "_handler", "_news", "_schedule", "failures")

    def __init__(self) -> None:
        self._handler: Handler | None = None
        self._schedule: Schedule | None = None
        self._news: deque[Event] = deque()
        self._due = False
        self.failures = 0  # how often the handler raised

    def listen(self, handler: Handler) -> None:
        self._handler = handler

    def begin(self, schedule: Schedule) -> None:
        """From now on facts are handed over; earlier ones first."""
        self._schedule = schedule
        self._arrange()

    def tell(self, event: Event) -> None:
        self._news.append(event)
        self._arrange()

    def _arrange(self) -> None:
        if self._news and not self._due and self._schedule is not None:
            self._due = True
            self._schedule(self._drain)

    def _drain(self) -> None:
        self._due = False
        # Not "while": a handler that causes a new fact with each one would never let the loop go on.
        for _ in range(len(self._news)):
            self._hand_over(self._news.popleft())
        self._arrange()

    def finish(self) -> None:
        """Hand over what is left, now. What that causes is not told any more."""
        self._schedule = None
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
            self.failures += 1  # it cannot even take the report: the count is what remains
