"""Anti-entropy: messages that a peer's filter lacks, to be sent again (not in the spec, which does not converge alone).

With two causal ids, a message that its sender's own side of a partition acknowledged is looked for by nobody on the
other side. So whoever hears a filter that lacks a message it holds sends that message again, after a random delay
in which another's rebroadcast, or the peer's next filter, calls it off.
"""

from __future__ import annotations

from sdschat.sds.config import Config
from sdschat.sds.limits import PUSHES_PER_CHANNEL, PUSHES_PER_SENDER, WANTED_BY
from sdschat.sds.scheduled_sends import ScheduledSend, ScheduledSends
from sdschat.sds.timers import to_mono, to_wall
from sdschat.sds.values import Now, PushRow


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

    def turn(self, message_id: str) -> tuple[int, int]:
        """The same; of one participant's the oldest first, since the others depend on it."""
        return self.share_of_owner(message_id), self.entries[message_id].lamport

    def want(self, push: Push, sender_id: str) -> bool:
        """One more lacks what is to be pushed anyway. How many are remembered is bounded: to the others it is sent all
        the same, or their next filter asks for it again."""
        if len(push.wanted_by) >= WANTED_BY:
            return False
        push.wanted_by[sender_id] = None
        self.changed[push.message_id] = None
        return True

    def has_it(self, push: Push, sender_id: str) -> bool:
        """A peer no longer lacks it; true where nobody else does."""
        del push.wanted_by[sender_id]
        heir = next((other for other in push.wanted_by if self.share(other) < PUSHES_PER_SENDER), None)
        if heir is None:  # or nobody who may be owed more: their next filters ask for it again
            self.rest(push)
            return True
        push.wanted_by = {heir: None, **push.wanted_by}
        self.charge(push, heir)
        return False

    def settle(self, push: Push, not_before: int) -> None:
        """Sent, by us or by another: nobody is waiting now, and it is not sent again before `not_before`."""
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
        due = 0 if push.due is None else to_wall(now, push.due)
        not_before = 0 if push.not_before < 0 else to_wall(now, push.not_before)
        return PushRow(push.message_id, push.lamport, tuple(push.wanted_by), due, push.pushes, not_before)

    def restore(self, row: PushRow, now: Now, config: Config) -> None:
        push = Push(row.message_id, row.lamport)
        push.wanted_by = dict.fromkeys(row.wanted_by)
        push.pushes = row.pushes
        push.not_before = to_mono(now, row.not_before, 4 * config.sync_interval) if row.not_before else -1
        if row.due and row.wanted_by:
            self.schedule(push, to_mono(now, row.due, 100 * config.push_delay_max), row.wanted_by[0])
        else:
            self.remember(push, push.not_before)
