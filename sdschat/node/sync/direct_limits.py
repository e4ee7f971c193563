"""Limits of the direct messages that are taken from participants to whom the user never wrote: they cost nothing to
make, and their messages would fill the disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sdschat.mvds.limits import KIB, MIB
from sdschat.mvds.values import Message

DAY: Final = 24 * 3_600_000  # milliseconds of the monotonic clock; all limits are for a day
PEERS: Final = 256
BYTES_OF_ONE: Final = 1 * MIB
BYTES_OF_ALL: Final = 16 * MIB
_ROW: Final = 1 * KIB  # of a message on disk besides its body, about


FORGERIES: Final = 20  # told in a minute
_MINUTE: Final = 60_000


class DirectLimits:
    """The limits of one channel, for people known for a day or more, or for all others. What exceeds them is not
    acknowledged, so an honest sender tries again later."""

    def __init__(self) -> None:
        self._since = 0
        self._used: dict[str, int] = {}  # bytes, by peer
        self._all = 0
        self._told: set[str] = set()

    def exceeded(self, peer: str, mono: int) -> str:
        """Return the reason why nothing more is taken of this peer today; empty if something is."""
        if mono - self._since >= DAY:
            self._since, self._all = mono, 0
            self._used.clear()
            self._told.clear()
        if peer not in self._used and len(self._used) >= PEERS:
            return f"{PEERS} people to whom you never wrote have written to you today: no more of them are heard"
        if self._used.setdefault(peer, 0) >= BYTES_OF_ONE:
            return "you never wrote to them, and they sent too much for one day"
        if self._all >= BYTES_OF_ALL:
            return "people to whom you never wrote have sent too much for one day"
        return ""

    def first(self, peer: str) -> bool:
        """True if it was not told yet today that a peer exceeds a limit: once for each, and once for all others."""
        if len(self._used) >= PEERS and peer not in self._used:
            peer = ""
        told = peer in self._told
        self._told.add(peer)
        return not told

    def count(self, peer: str, messages: Iterable[Message]) -> None:
        """Count messages that are taken."""
        size = sum(len(message.body) + _ROW for message in messages)
        self._used[peer] += size
        self._all += size


class ForgeryNotices:
    """Notices of forged packets. Forgeries cost nothing to make, and are told a few times a minute."""

    def __init__(self) -> None:
        self._since = -_MINUTE
        self._told = 0

    def is_due(self, mono: int) -> bool:
        """True if one more may be told now; it is counted."""
        if mono - self._since >= _MINUTE:
            self._since, self._told = mono, 0
        self._told += 1
        return self._told <= FORGERIES
