"""The share of the disk that all strangers who wait have together, in all channels of a profile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

PREFIX: Final = "stranger/"  # names of the values begin so; the channel and the sender follow
_WHOLE: Final = 30 * 24 * 3_600_000  # milliseconds in which the whole share is given back by those who were forgotten
_STEP: Final = 60_000
_ROW: Final = 500  # bytes of a message on disk besides its packet and, about as long, its text: rows and indexes


class StrangerAccount(NamedTuple):
    """The messages of one stranger in one channel, or of all who were forgotten there."""

    messages: int = 0
    heard_at: int = 0  # epoch milliseconds; of those who were forgotten: until then room was given back
    size: int = 0  # bytes on disk, about
    senders: int = 1

    def with_message(self, packet: int, wall: int, *, again: bool) -> StrangerAccount:
        """Add a message of so many bytes. `again`: its id was here already."""
        size = self.size + 2 * packet + _ROW if packet else self.size
        return StrangerAccount(self.messages + (not again), wall, size)

    def with_account(self, other: StrangerAccount, wall: int) -> StrangerAccount:
        """Add the account of somebody who is forgotten now."""
        senders = self.senders + other.senders
        return StrangerAccount(self.messages + other.messages, self.heard_at or wall, self.size + other.size, senders)

    def given_back(self, wall: int, limit: int) -> StrangerAccount:
        """Count less as time goes by: nobody can open those who were forgotten, and others shall have room again."""
        elapsed = wall - self.heard_at
        room = limit * elapsed // _WHOLE
        if elapsed < _STEP or not room or not self.size:
            return self
        return self._replace(heard_at=wall, size=max(0, self.size - room))


def account_from(kept: bytes) -> StrangerAccount:
    return StrangerAccount(*map(int, kept.split()))


class StrangersShare:
    """The bytes in use, and their limit; 0: no limit. What exceeds it is kept as ids."""

    def __init__(self, limit: int, kept: Iterable[bytes] = ()) -> None:
        self.limit = limit
        self._used = sum(account_from(each).size for each in kept)

    @property
    def full(self) -> bool:
        return 0 < self.limit <= self._used

    def change(self, before: int, after: int) -> None:
        """An account had so many bytes, and has so many now."""
        self._used += after - before
