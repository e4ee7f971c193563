"""The Lamport clock of one channel (spec: Participant state, Send Message, Deliver Message)."""

from __future__ import annotations

from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import Reason


class LamportClock:
    """Epoch milliseconds, pushed ahead by what is sent and delivered, never by what merely arrives."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def next(self, wall: int) -> int:
        """Send Message: `max(timeNowInMs, current_lamport_timestamp + 1)`."""
        return max(wall, self.value + 1)

    def tick(self, wall: int) -> int:
        """Make that the local timestamp."""
        self.value = self.next(wall)
        return self.value

    def observe(self, lamport: int) -> None:
        """Deliver Message: a greater timestamp than ours becomes ours."""
        if lamport > self.value:
            self.value = lamport


def out_of_bounds(lamport: int) -> Reason | None:
    """Timestamps that no honest clock makes. The verdict is the same on every node, whatever its own clock says."""
    if lamport <= 0:
        return Reason.CLOCK_ZERO
    if lamport >= MAX_LAMPORT:
        return Reason.CLOCK_TOO_LARGE
    return None
