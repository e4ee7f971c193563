"""Counters of a Store while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

COUNTS: Final = "store.counts"  # under this name the database keeps what was counted last
# Upper bounds of the histogram of answer times, in seconds.
BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)


@dataclass(slots=True)
class Counts:
    """Since the program was started. All of them only grow."""

    archived: int = 0
    archived_bytes: int = 0
    answered: dict[str, int] = field(default_factory=lambda: {"ids": 0, "hints": 0, "page": 0})
    messages_out: int = 0
    bytes_out: int = 0
    unknown: int = 0
    refused: dict[str, int] = field(default_factory=dict)  # by reason: unreadable, forged, replayed, busy, clock
    dropped_packets: int = 0  # by retention
    times: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def refuse(self, reason: str) -> None:
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def timed(self, seconds: float) -> None:
        at = next((place for place, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        self.times[at] += 1
        self.seconds += seconds
