"""A check that the broker still forwards packets. Pure; times are seconds of one monotonic clock.

MQTT's keep-alive only shows that the broker answers a ping. The probe is a packet to ourselves, through the broker.
"""

from __future__ import annotations

from enum import Enum, auto


class Step(Enum):
    NOTHING = auto()
    SEND = auto()  # send a probe now
    NOT_ANSWERED = auto()  # never answered on this connection: the broker may forbid it (reported once)
    HUNG = auto()  # answered before, but not any more


class Probe:
    """The probe of one connection. Every packet that arrives counts as an answer: only silence is suspicious."""

    __slots__ = ("_asked_at", "_every", "_gave_up", "_heard_at", "_patience", "_proven")

    def __init__(self, every: float, patience: float, now: float) -> None:
        self._every = every
        self._patience = patience
        self._heard_at = now
        self._asked_at: float | None = None
        self._proven = False
        self._gave_up = False

    def heard(self, now: float) -> None:
        """Record a sign of life: the broker forwarded or accepted a packet. Silence is counted from `now`."""
        self._heard_at = now
        if self._proven:
            self._asked_at = None

    def answered(self, now: float) -> None:
        """Record that the probe itself came back: from now on a missing probe means a hang."""
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
        # The first probe is sent at once, so that a hang is detected from the start.
        if not self._proven or now - self._heard_at >= self._every:
            self._asked_at = now
            return Step.SEND
        return Step.NOTHING
