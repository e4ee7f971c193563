"""Messages we mean to send for the sake of others: answers to repair requests, and pushes.

Each entry is one message. While it is owed it has a time when it is due, and counts against whoever it is owed to;
afterwards it is remembered for a while, so that nobody can make us send the same message again at will.

Pushes are anti-entropy (not in the spec, which does not converge alone): with two causal ids, a message that its
sender's own side of a partition acknowledged is looked for by nobody on the other side. So whoever hears a filter that
lacks a message it holds sends that message again, after a random delay in which another's rebroadcast, or the peer's
next filter, calls it off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sdschat.sds.config import Config
from sdschat.sds.limits import PUSHES_PER_CHANNEL, PUSHES_PER_SENDER, WANTED_BY
from sdschat.sds.timers import Deadlines
from sdschat.sds.values import Now, PushRow


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

    def rank(self, message_id: str) -> tuple[int, int]:
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
        """Make this entry due at a time, and charge it to `owner`."""
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
        """Keep this entry without a time at which it is due. With an owner it may yet become due, and is charged to
        them."""
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
        """Charge this entry to `owner` from now on; None: to nobody."""
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


class Push(ScheduledSend):
    """One message that may be pushed, for the sake of who is first in `wanted_by`. `due` is None while nobody is known
    to lack it."""

    __slots__ = ("lamport", "not_before", "pushes", "wanted_by")

    def __init__(self, message_id: str, lamport: int) -> None:
        super().__init__(message_id)
        self.lamport = lamport
        # Peers that lack it, at most `WANTED_BY`. The first one pays; empty exactly while `due` is None.
        self.wanted_by: dict[str, None] = {}
        # Times that it was pushed, by us or by another.
        self.pushes = 0
        # Monotonic milliseconds: it is not pushed again before. -1: it was never pushed.
        self.not_before = -1


class PushBuffer(ScheduledSends[Push]):
    """Pushes that are due, and those of late, whose back-off still counts."""

    __slots__ = ()

    def has_room(self, wanted_by: str, message_id: str) -> bool:
        return self.make_room(wanted_by, message_id, PUSHES_PER_SENDER, PUSHES_PER_CHANNEL)

    def rank(self, message_id: str) -> tuple[int, int]:
        """Return the place among all that are due: whoever is owed least first, and of one participant's the oldest,
        since the others depend on it."""
        return self.share_of_owner(message_id), self.entries[message_id].lamport

    def want(self, push: Push, sender_id: str) -> bool:
        """Note one more participant who lacks a message that is to be pushed anyway. How many are remembered is
        bounded: the push reaches the others as well, or their next filter asks for it again. Return False if this one
        is not."""
        if len(push.wanted_by) >= WANTED_BY:
            return False
        push.wanted_by[sender_id] = None
        self.changed[push.message_id] = None
        return True

    def has_it(self, push: Push, sender_id: str) -> bool:
        """Note that a peer no longer lacks a message. Return True if nobody else does either."""
        del push.wanted_by[sender_id]
        heir = next((other for other in push.wanted_by if self.share(other) < PUSHES_PER_SENDER), None)
        if heir is None:  # or nobody who may be owed more: their next filters ask for it again
            self.rest(push)
            return True
        push.wanted_by = {heir: None, **push.wanted_by}
        self.charge(push, heir)
        return False

    def settle(self, push: Push, not_before: int) -> None:
        """Note that a message was sent, by us or by another: nobody is waiting now, and it is not sent again before
        `not_before`."""
        push.pushes += 1
        push.not_before = not_before
        self.rest(push)

    def rest(self, push: Push) -> None:
        push.wanted_by.clear()
        if push.pushes:
            self.remember(push, push.not_before)
        else:
            self.forget(push.message_id)

    def wanted_by(self, sender_id: str) -> list[Push]:
        """Return the pushes due for this peer, oldest first: in the same order after a restart."""
        if not len(self.timers):
            return []
        theirs = [push for push in self.entries.values() if push.due is not None and sender_id in push.wanted_by]
        return sorted(theirs, key=lambda push: (push.lamport, push.message_id))

    def row(self, push: Push, now: Now) -> PushRow:
        due = 0 if push.due is None else now.to_wall(push.due)
        not_before = 0 if push.not_before < 0 else now.to_wall(push.not_before)
        return PushRow(push.message_id, push.lamport, tuple(push.wanted_by), due, push.pushes, not_before)

    def restore(self, row: PushRow, now: Now, config: Config) -> None:
        push = Push(row.message_id, row.lamport)
        push.wanted_by = dict.fromkeys(row.wanted_by)
        push.pushes = row.pushes
        push.not_before = now.to_mono(row.not_before, 4 * config.sync_interval) if row.not_before else -1
        if row.due and row.wanted_by:
            self.schedule(push, now.to_mono(row.due, 100 * config.push_delay_max), row.wanted_by[0])
        else:
            self.remember(push, push.not_before)
