"""Limits of the messages that are kept of one sender, so that nobody fills the disks and screens of everybody else."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final

SPAN: Final = 60_000  # milliseconds in which messages are counted
FRESH: Final = 120_000  # what is dated earlier may come back in bursts: somebody was away, or lacked it
OLDER_TIMES: Final = 5  # so many times as many of those, and of what all strangers say together
SENDERS: Final = 1024  # counted apart


class _Count:
    """Times of what was let through, on the monotonic clock."""

    __slots__ = ("_most", "_times")

    def __init__(self, most: int) -> None:
        self._times: deque[int] = deque(maxlen=most)
        self._most = most

    def full(self, mono: int) -> bool:
        return len(self._times) == self._most and mono - self._times[0] < SPAN

    def add(self, mono: int) -> None:
        self._times.append(mono)


class SenderLimits:
    """The limits in one channel: `most` messages of a sender in a minute of our clock, 0 for any number. Sync messages
    are counted apart from those with content. Strangers and senders without a key have a limit together besides, for
    they cost nothing to make."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: OrderedDict[tuple[str, bool], tuple[_Count, _Count]] = OrderedDict()  # fresh ones, and all
        self._strangers = _Count(OLDER_TIMES * most)

    def exceeded(self, sender_id: str, mono: int, *, fresh: bool, sync: bool, stranger: bool) -> bool:
        """Count a message, unless it is one too many."""
        if not self._most:
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

    def _of(self, sender_id: str, sync: bool) -> tuple[_Count, _Count]:
        key = sender_id, sync
        found = self._counts.get(key)
        if found is None:
            found = self._counts[key] = _Count(self._most), _Count(OLDER_TIMES * self._most)
            if len(self._counts) > SENDERS:
                self._counts.popitem(last=False)
        else:
            self._counts.move_to_end(key)
        return found
