"""Own messages that are possibly acknowledged and are no longer resent, because newer ones fill the buffer.

They stay possibly acknowledged, and are sent again like any message that somebody turns out to lack. The newest of
them are remembered here, so that a mention, or an equal range, acknowledges them after all; filters are no longer held
against them. The older are forgotten: their state is what it was when they left.

A row tells which of the three a message is, and age alone decides it: all that are forgotten are older than all that
are remembered, and these are older than all that are resent. So a restart, which reads only the newest rows, finds
everything as it was.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Generic, Protocol, TypeVar

from sdschat.sds.limits import RETIRED_KEPT

Age = tuple[int, str]  # Lamport, id


class Dated(Protocol):
    lamport: int
    message_id: str


MessageType = TypeVar("MessageType", bound=Dated)


class RetiredBuffer(Generic[MessageType]):
    """The newest `RETIRED_KEPT` that left."""

    __slots__ = ("_ages", "_forgotten", "_kept")

    def __init__(self) -> None:
        self._kept: dict[str, MessageType] = {}
        self._ages: list[Age] = []
        self._forgotten: Age = (-1, "")  # the newest of the forgotten

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._kept

    def get(self, message_id: str) -> MessageType | None:
        return self._kept.get(message_id)

    def is_newer(self, age: Age) -> bool:
        """True if something newer has left already."""
        return age < (self._ages[-1] if self._ages else self._forgotten)

    def add(self, message: MessageType) -> MessageType | None:
        """One that leaves; tells which is forgotten for it, which may be this one."""
        age = (message.lamport, message.message_id)
        if age < self._forgotten:
            return message
        insort(self._ages, age)
        self._kept[message.message_id] = message
        if len(self._ages) <= RETIRED_KEPT:
            return None
        oldest = self._kept[self._ages[0][1]]
        self.take(oldest)
        self.forgot(oldest)
        return oldest

    def take(self, message: MessageType) -> bool:
        """It is acknowledged after all; false where it had not left."""
        if self._kept.pop(message.message_id, None) is None:
            return False
        del self._ages[bisect_left(self._ages, (message.lamport, message.message_id))]
        return True

    def forgot(self, message: MessageType) -> None:
        self._forgotten = max(self._forgotten, (message.lamport, message.message_id))
