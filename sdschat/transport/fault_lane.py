"""Faults for the packets of one direction: loss, duplicates, reordering, delay, a flipped bit."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final, Protocol

# A reordered packet waits up to this much longer than the delay of all packets, so that later packets overtake it.
_HELD_BACK: Final = 0.5
# Each delay is between half and one and a half times the setting.
_SPREAD: Final = (0.5, 1.5)
MAX_HELD: Final = 10_000  # delayed packets per direction; more are lost


class Scheduler(Protocol):
    """A clock with timers, as faults need it; an event loop has both."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], None], /) -> object: ...


@dataclass(frozen=True, slots=True)
class Faults:
    """The settings `fault.*`: probabilities from 0 to 1, the delay in seconds."""

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    delay: float = 0.0
    corrupt: float = 0.0
    offline: bool = False

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder", "corrupt"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"fault.{name} is {value}, and must be from 0 to 1")
        if not 0 <= self.delay <= 3600:
            raise ValueError(f"fault.delay is {self.delay} s, and must be from 0 to 3600 s")

    @property
    def active(self) -> bool:
        return self != NONE

    def describe(self, way: str = "in/out") -> str:
        """Describe the faults in words; empty if there are none."""
        if self.offline:
            return f"offline {way}"
        shares = (
            ("loss", self.loss),
            ("duplicates", self.duplicate),
            ("reorder", self.reorder),
            ("corrupt", self.corrupt),
        )
        parts = [f"{name} {value:.4g}%" for name, share in shares if (value := 100 * share)]
        if self.delay:
            parts.append(f"delay {1000 * self.delay:.4g} ms")
        return f"{', '.join(parts)} {way}" if parts else ""

    def __str__(self) -> str:
        return self.describe() or "none"


NONE: Final = Faults()


Step = Callable[[], None]


class Direction(StrEnum):
    IN = "in"
    OUT = "out"


class FaultLane:
    """One direction. Packets keep their order, except for a reordered one."""

    def __init__(self, random: Random, clock: Scheduler) -> None:
        self._random = random
        self._clock = clock
        self._held: list[tuple[float, int, Step, Step]] = []
        self._last = 0.0
        self._count = 0
        self.lost = self.duplicated = self.reordered = self.corrupted = 0

    @property
    def idle(self) -> bool:
        """True if no delayed packet is on its way, so that nothing can be overtaken."""
        return not self._held

    def spoil(self, faults: Faults, payload: bytes) -> bytes:
        """Return the payload as it arrives: in a share `corrupt` of the packets one bit is flipped."""
        if not faults.corrupt or not payload or self._random.random() >= faults.corrupt:
            return payload
        self.corrupted += 1
        bit = self._random.randrange(8 * len(payload))
        spoilt = bytearray(payload)
        spoilt[bit // 8] ^= 1 << bit % 8
        return bytes(spoilt)

    def carry(self, faults: Faults, deliver: Step, lose: Step) -> None:
        """Pass a packet through the faults: each copy of it is delivered or lost, now or later."""
        if self._random.random() < faults.loss or len(self._held) >= MAX_HELD:
            self.lost += 1
            lose()
            return
        self._send_on(faults, deliver, lose)
        if self._random.random() < faults.duplicate:
            self.duplicated += 1
            self._send_on(faults, deliver, lose)

    def _send_on(self, faults: Faults, deliver: Step, lose: Step) -> None:
        now = self._clock.time()
        due = now + faults.delay * self._random.uniform(*_SPREAD)
        if self._random.random() < faults.reorder:
            self.reordered += 1
            due = max(due, self._last) + self._random.uniform(0, _HELD_BACK)
        else:
            due = self._last = max(due, self._last)
        if due <= now and not self._held:
            deliver()
            return
        self._count += 1
        heapq.heappush(self._held, (due, self._count, deliver, lose))
        self._clock.call_at(due, self._release)

    def _release(self) -> None:
        while self._held and self._held[0][0] <= self._clock.time():
            heapq.heappop(self._held)[2]()

    def clear(self) -> None:
        """Lose all delayed packets."""
        held, self._held = self._held, []
        self.lost += len(held)
        for _, _, _, lose in held:
            lose()
