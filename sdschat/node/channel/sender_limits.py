"""Limits of the messages that are kept of one sender, so that nobody fills the disks and screens of everybody else."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MINUTE: Final = 60_000  # milliseconds
FRESH: Final = 120_000  # what is dated earlier may come back in bursts: somebody was away, or lacked it
OLDER_TIMES: Final = 5  # so many times as many of those, and of what all strangers say together
SENDERS: Final = 1024  # counted apart
STRANGERS_SYNC: Final = 1000  # sync messages of all strangers at once: each is work, and nobody pastes any
_MICROSECONDS: Final = 1000  # in a millisecond


class _Rate:
    """A rate with a burst: `at_once` messages, then one more with every `step` of the monotonic clock. In here times
    are microseconds: the largest rate lets a message through more often than once in a millisecond."""

    __slots__ = ("_burst", "_next", "_step")

    def __init__(self, per_minute: int, at_once: int) -> None:
        self._step = MINUTE * _MICROSECONDS // per_minute
        self._burst = (at_once - 1) * self._step
        self._next = 0  # time at which all that was let through would have been said at the rate alone

    def full(self, mono: int) -> bool:
        return self._next - mono * _MICROSECONDS > self._burst

    def add(self, mono: int) -> None:
        self._next = max(self._next, mono * _MICROSECONDS) + self._step


_Rates = OrderedDict[tuple[str, bool], tuple[_Rate, _Rate]]  # of fresh and of old ones


class SenderLimits:
    """The limits in one channel: `per_minute` messages of a sender by our clock, 0 for any number, and `at_once` before
    that rate counts. Sync messages are counted apart from those with content. Strangers and senders without a key have
    a limit together besides, for each of the two, since they cost nothing to make."""

    def __init__(self, per_minute: int, at_once: int) -> None:
        self._per_minute = per_minute
        self._at_once = max(1, at_once)
        self._people: _Rates = OrderedDict()
        self._others: _Rates = OrderedDict()  # apart: anybody can make up as many as it takes to be forgotten
        self._strangers = self._rate(OLDER_TIMES) if per_minute else None
        self._strangers_sync = self._rate(OLDER_TIMES, STRANGERS_SYNC) if per_minute else None

    def exceeded(self, sender_id: str, mono: int, *, fresh: bool, sync: bool, stranger: bool) -> bool:
        """Count a message, unless it is one too many."""
        strangers = self._strangers_sync if sync else self._strangers
        if strangers is None:
            return False
        newest, older = self._of((sender_id, sync), stranger)
        rate = newest if fresh else older  # old messages of this sender may be sent by anybody
        if rate.full(mono) or (stranger and strangers.full(mono)):
            return True
        rate.add(mono)
        if stranger:
            strangers.add(mono)
        return False

    def _of(self, key: tuple[str, bool], stranger: bool) -> tuple[_Rate, _Rate]:
        rates = self._others if stranger else self._people
        if key not in rates:  # a stranger who has become known goes on with the same account
            known = key in self._others
            rates[key] = self._others.pop(key) if known else (self._rate(1), self._rate(OLDER_TIMES))
            if len(rates) > SENDERS:
                rates.popitem(last=False)
        rates.move_to_end(key)
        return rates[key]

    def _rate(self, times: int, most: int | None = None) -> _Rate:
        at_once = times * self._at_once
        return _Rate(times * self._per_minute, at_once if most is None else min(most, at_once))
