"""The only place that reads a clock."""

from __future__ import annotations

import time

from sdschat.sds.values import Now


class Clock:
    """Wall and monotonic time together, in milliseconds."""

    __slots__ = ("skew",)

    def __init__(self) -> None:
        self.skew = 0  # how much the wall clock is set wrong on purpose, by fault injection

    @staticmethod
    def stopwatch() -> float:
        """Seconds, for how long something took."""
        return time.perf_counter()

    def now(self) -> Now:
        return Now(time.time_ns() // 1_000_000 + self.skew, time.monotonic_ns() // 1_000_000)
