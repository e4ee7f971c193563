"""The only place that reads a clock."""

from __future__ import annotations

import time
from typing import Final

from sdschat.sds.values import Now

_UPTIME: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # both go on while the machine sleeps


class Clock:
    """Wall and monotonic time together, in milliseconds."""

    __slots__ = ("skew",)

    def __init__(self) -> None:
        self.skew = 0  # how much the wall clock is set wrong on purpose, by fault injection

    @staticmethod
    def stopwatch() -> float:
        """Return seconds, to measure how long something takes."""
        return time.perf_counter()

    def uptime(self) -> int:
        """Return milliseconds that also pass while the machine sleeps, however the wall clock is set."""
        return time.clock_gettime_ns(_UPTIME) // 1_000_000

    def now(self) -> Now:
        return Now(time.time_ns() // 1_000_000 + self.skew, time.monotonic_ns() // 1_000_000)
