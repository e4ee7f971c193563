"""Own messages that are possibly acknowledged and are no longer resent, because newer ones fill the buffer.

They stay possibly acknowledged, and are sent again like any message that a peer turns out to lack. The newest of them
are remembered here, so that a mention, or an equal range, still acknowledges them; filters are no longer compared with
them. The older ones are forgotten: their state stays as it was.

The row of a message says whether it is resent, retired or forgotten, and age alone decides this: all that are forgotten
are older than all that are retired, and these are older than all that are resent. A restart reads only the newest
rows, and so restores the same state.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from sdschat.sds.limits import RETIRED_KEPT

Age = tuple[int, str]  # Lamport, id


class Dated(Protocol):
    lamport: int
    message_id: str


MessageType = TypeVar("MessageType", bound=Dated)


@dataclass(slots=True, eq=False)
class RetiredBuffer(Generic[MessageType]):
    """The newest `RETIRED_KEPT` messages that were retired."""

    # By message id.
    _kept: dict[str, MessageType] = field(default_factory=dict, init=False)
    # Ages of all in `_kept`, in ascending order.
    _ages: list[Age] = field(default_factory=list, init=False)
    # The newest age that was forgotten. It is below every age in `_ages`.
    _forgotten: Age = field(default=(-1, ""), init=False)

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, message_id: str) -> bool:
        return message_id in self._kept

    def get(self, message_id: str) -> MessageType | None:
        return self._kept.get(message_id)

    def is_newer(self, age: Age) -> bool:
        """True if a newer message was retired already."""
        return age < (self._ages[-1] if self._ages else self._forgotten)

    def add(self, message: MessageType) -> MessageType | None:
        """Retire a message. Return the message evicted for it (possibly the same one), or None."""
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
        """Remove a message that is acknowledged after all. Return False if it was not retired."""
        if self._kept.pop(message.message_id, None) is None:
            return False
        del self._ages[bisect_left(self._ages, (message.lamport, message.message_id))]
        return True

    def forgot(self, message: MessageType) -> None:
        self._forgotten = max(self._forgotten, (message.lamport, message.message_id))
