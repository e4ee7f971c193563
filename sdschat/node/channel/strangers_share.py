"""The share of the disk that all strangers who wait have together, in all channels of a profile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

PREFIX: Final = "stranger/"  # names of the values begin so; the channel and the sender follow
_CROWDED: Final = 0.75  # of the share: from here on room is made
_ROOMY: Final = 0.625  # of the share: room is made down to here
_ROW: Final = 500  # bytes of a message on disk besides its packet and, about as long, its text: rows and indexes


class StrangerAccount(NamedTuple):
    """The messages of one stranger in one channel, or of all who were forgotten there."""

    messages: int = 0
    heard_at: int = 0  # epoch milliseconds
    size: int = 0  # bytes on disk, about
    senders: int = 1

    def with_message(self, packet: int, wall: int, *, again: bool) -> StrangerAccount:
        """Add a message of so many bytes. `again`: its id was here already."""
        size = self.size + size_on_disk(packet) if packet else self.size
        return StrangerAccount(self.messages + (not again), wall, size)

    def with_account(self, other: StrangerAccount) -> StrangerAccount:
        """Add the account of others."""
        heard_at = max(self.heard_at, other.heard_at)
        senders = self.senders + other.senders
        return StrangerAccount(self.messages + other.messages, heard_at, self.size + other.size, senders)


def account_from(kept: bytes) -> StrangerAccount:
    return StrangerAccount(*map(int, kept.split()))


def prefix_of(channel: str) -> str:
    return f"{PREFIX}{channel}/"


def size_on_disk(packet: int) -> int:
    """Return the bytes that a message takes on disk, about."""
    return 2 * packet + _ROW


class StrangersShare:
    """The bytes in use, and their limit; 0: no limit. Room is made before the share is full (`stranger_bodies.py`), and
    what exceeds it all the same is kept as ids."""

    def __init__(self, limit: int, kept: Iterable[bytes] = ()) -> None:
        self.limit = limit
        self._used = sum(account_from(each).size for each in kept)

    @property
    def full(self) -> bool:
        return 0 < self.limit <= self._used

    @property
    def fills(self) -> bool:
        """True if room may have to be made soon."""
        return 0 < self.limit <= 2 * self._used

    @property
    def excess(self) -> int:
        """The bytes to be freed now; 0 while there is room."""
        if not self.limit or self._used < self.limit * _CROWDED:
            return 0
        return self._used - int(self.limit * _ROOMY)

    def change(self, before: int, after: int) -> None:
        """An account had so many bytes, and has so many now."""
        self._used += after - before
