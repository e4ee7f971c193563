"""Messages we mean to send for the sake of others: answers to repair requests, and pushes.

Each entry is one message. While it is owed it has a time when it is due, and counts against whoever it is owed to;
afterwards it is remembered for a while, so that nobody can make us send the same message again at will.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sdschat.sds.timers import Deadlines


def may_take(own: int, taken: int, per_sender: int, per_channel: int) -> bool:
    """True if somebody who has `own` of what is `taken` may have one more: never more than would be left for others.

    So a few who take all they can leave room for whoever comes, and what was promised to one is not taken back for the
    sake of another.
    """
    return own < min(per_sender, per_channel - taken)


class ScheduledSend:
    """One message that is owed to somebody. `due` is None where it only is remembered."""

    __slots__ = ("due", "message_id")

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.due: int | None = None


EntryType = TypeVar("EntryType", bound=ScheduledSend)


@dataclass(slots=True, eq=False)
class ScheduledSends(Generic[EntryType]):
    """Entries by message id, by when they are due, and, where they are only remembered, since when."""

    # By message id. Each is either in `timers` or in `_remembered`.
    entries: dict[str, EntryType] = field(default_factory=dict, init=False)
    # `due` of the entries that have one, in monotonic milliseconds.
    timers: Deadlines = field(default_factory=Deadlines, init=False)
    # Ids whose row on disk is out of date.
    changed: dict[str, None] = field(default_factory=dict, init=False)
    # Ids of the entries without `due`, by the monotonic milliseconds since when they are only remembered.
    _remembered: Deadlines = field(default_factory=Deadlines, init=False)
    # By message id: the participant whose quota the entry counts against. Entries that are owed to nobody are absent.
    _charged: dict[str, str] = field(default_factory=dict, init=False)
    # Number of entries in `_charged` by participant; no number is 0.
    _shares: dict[str, int] = field(default_factory=dict, init=False)

    def share(self, owner: str) -> int:
        return self._shares.get(owner, 0)

    def share_of_owner(self, message_id: str) -> int:
        """Return how much is owed to the participant that this message is owed to."""
        return self.share(self._charged.get(message_id, ""))

    def turn(self, message_id: str) -> tuple[int, int]:
        """Return the place of this message among all that are due: whoever is owed least comes first."""
        return self.share_of_owner(message_id), 0

    def make_room(self, owner: str, message_id: str, per_sender: int, per_channel: int) -> bool:
        """True if `owner` may be owed one more. If the buffer is full, forget the oldest memory for it."""
        if not may_take(self.share(owner), len(self._charged), per_sender, per_channel):
            return False
        if message_id in self.entries or len(self.entries) < per_channel:
            return True
        oldest = self._remembered.pop_first()
        if oldest is None:
            return False
        self.forget(oldest)
        return True

    def schedule(self, entry: EntryType, due: int, owner: str) -> None:
        """It is owed to `owner`, and due then."""
        entry.due = due
        self.entries[entry.message_id] = entry
        self.timers.set(entry.message_id, due)
        self._remembered.discard(entry.message_id)
        self.charge(entry, owner)

    def put_off(self, entry: EntryType, due: int) -> None:
        entry.due = due
        self.timers.set(entry.message_id, due)
        self.changed[entry.message_id] = None

    def remember(self, entry: EntryType, since: int, owner: str | None = None) -> None:
        """It is not due. Where there is an owner, it may yet be, and counts as if it were."""
        entry.due = None
        self.entries[entry.message_id] = entry
        self.timers.discard(entry.message_id)
        self._remembered.set(entry.message_id, since)
        self.charge(entry, owner)

    def forget(self, message_id: str) -> None:
        entry = self.entries.pop(message_id, None)
        if entry is not None:
            self.timers.discard(message_id)
            self._remembered.discard(message_id)
            self.charge(entry, None)

    def forget_before(self, since: int) -> None:
        for message_id in self._remembered.pop_due(since - 1):
            self.forget(message_id)

    def charge(self, entry: EntryType, owner: str | None) -> None:
        """From now on `owner` pays for it, or nobody."""
        message_id = entry.message_id
        self.changed[message_id] = None
        before = self._charged.pop(message_id, None)
        if before is not None:
            self._shares[before] -= 1
            if not self._shares[before]:
                del self._shares[before]
        if owner is not None:
            self._charged[message_id] = owner
            self._shares[owner] = self.share(owner) + 1
