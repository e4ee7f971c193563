"""Waiting times between attempts to connect."""

from __future__ import annotations

from collections.abc import Callable


class Backoff:
    """Doubling bounds with full jitter: many clients that lost one broker do not all come back at the same moment.

    `random` gives a number from 0 to 1. Only a connection that lasted for a while resets the bound: a broker that
    accepts a connection and drops it at once must not be asked faster and faster.
    """

    __slots__ = ("_first", "_longest", "_random", "attempts")

    # Never 0: a random 0 after a refusal would make a busy loop.
    SHORTEST = 0.05

    def __init__(self, first: float, longest: float, random: Callable[[], float]) -> None:
        if not 0 < first <= longest:
            raise ValueError(f"waiting starts at {first} s and ends at {longest} s: it must grow, from above 0")
        self._first = first
        self._longest = longest
        self._random = random
        self.attempts = 0

    def next(self) -> float:
        """Return the seconds to wait until the next attempt."""
        # The exponent is capped because a float cannot hold two to the power of a week of attempts.
        bound = min(self._longest, self._first * 2.0 ** min(self.attempts, 64))
        self.attempts += 1
        return max(self.SHORTEST, self._random() * bound)

    def reset(self) -> None:
        self.attempts = 0
