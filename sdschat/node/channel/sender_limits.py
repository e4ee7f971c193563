"""Limits of the messages that are kept of one sender, so that nobody fills the disks and screens of everybody else."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MINUTE: Final = 60_000  # milliseconds
FRESH: Final = 120_000  # what is dated earlier may come back in bursts: somebody was away, or lacked it
OLDER_TIMES: Final = 5  # so many times as many of those, and of what all strangers say together
SENDERS: Final = 1024  # counted apart


class _Rate:
    """A rate with a burst: `at_once` messages, then one more with every `step` milliseconds of the monotonic clock."""

    __slots__ = ("_burst", "_next", "_step")

    def __init__(self, per_minute: int, at_once: int) -> None:
        self._step = MINUTE // per_minute
        self._burst = (at_once - 1) * self._step
        self._next = 0  # time at which all that was let through would have been said at the rate alone

    def full(self, mono: int) -> bool:
        return self._next - mono > self._burst

    def add(self, mono: int) -> None:
        self._next = max(self._next, mono) + self._step


class SenderLimits:
    """The limits in one channel: `per_minute` messages of a sender by our clock, 0 for any number, and `at_once` before
    that rate counts. Sync messages are counted apart from those with content. Strangers and senders without a key have
    a limit together besides, for they cost nothing to make."""

    def __init__(self, per_minute: int, at_once: int) -> None:
        self._per_minute = per_minute
        self._at_once = max(1, at_once)
        self._rates: OrderedDict[tuple[str, bool], tuple[_Rate, _Rate]] = OrderedDict()  # of fresh ones, and of all
        self._strangers = self._rate(OLDER_TIMES) if per_minute else None

    def exceeded(self, sender_id: str, mono: int, *, fresh: bool, sync: bool, stranger: bool) -> bool:
        """Count a message, unless it is one too many."""
        if self._strangers is None:
            return False
        newest, every = self._of(sender_id, sync)
        if every.full(mono) or (fresh and newest.full(mono)) or (stranger and self._strangers.full(mono)):
            return True
        every.add(mono)
        if fresh:
            newest.add(mono)
        if stranger:
            self._strangers.add(mono)
        return False

    def _of(self, sender_id: str, sync: bool) -> tuple[_Rate, _Rate]:
        key = sender_id, sync
        found = self._rates.get(key)
        if found is None:
            found = self._rates[key] = self._rate(1), self._rate(OLDER_TIMES)
            if len(self._rates) > SENDERS:
                self._rates.popitem(last=False)
        else:
            self._rates.move_to_end(key)
        return found

    def _rate(self, times: int) -> _Rate:
        return _Rate(times * self._per_minute, times * self._at_once)
