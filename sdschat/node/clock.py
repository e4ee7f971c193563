"""The only place that reads a clock."""

from __future__ import annotations

import time

from sdschat.sds.values import Now


class Clock:
    """Wall and monotonic time together, in milliseconds."""

    __slots__ = ()

    def now(self) -> Now:
        return Now(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000)
