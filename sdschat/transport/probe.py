"""Is the broker still passing packets on? Pure; times are seconds on one clock that never jumps.

MQTT's keep-alive only shows that something answers a ping. The probe is a packet to ourselves, through the broker.
"""

from __future__ import annotations

from enum import Enum, auto


class Step(Enum):
    NOTHING = auto()
    SEND = auto()  # send a probe now
    NOT_ANSWERED = auto()  # never on this connection: the broker may not let us (told once)
    HUNG = auto()  # it used to be answered, and is not any more


class Probe:
    """One connection's probe. Anything that arrives counts as an answer: only silence is suspicious."""

    __slots__ = ("_asked_at", "_every", "_gave_up", "_heard_at", "_patience", "_proven")

    def __init__(self, every: float, patience: float, now: float) -> None:
        self._every = every
        self._patience = patience
        self._heard_at = now
        self._asked_at: float | None = None
        self._proven = False
        self._gave_up = False

    def heard(self, now: float) -> None:
        """A packet was passed on to us, or taken from us."""
        self._heard_at = now
        if self._proven:
            self._asked_at = None

    def answered(self, now: float) -> None:
        """The probe itself came back: from now on its absence means something."""
        self._proven = True
        self.heard(now)

    def step(self, now: float) -> Step:
        if self._gave_up:
            return Step.NOTHING
        if self._asked_at is not None:
            if now - self._asked_at < self._patience:
                return Step.NOTHING
            if self._proven:
                return Step.HUNG
            self._gave_up = True
            return Step.NOT_ANSWERED
        # The first one goes out at once, so that a hang is noticed from the very start.
        if not self._proven or now - self._heard_at >= self._every:
            self._asked_at = now
            return Step.SEND
        return Step.NOTHING
