"""Anti-entropy: messages that a peer's filter lacks, to be sent again (not in the spec, which does not converge alone).

With two causal ids, a message that its sender's own side of a partition acknowledged is looked for by nobody on the
other side. So whoever hears a filter that lacks a message it holds sends that message again, after a random delay
in which another's rebroadcast, or the peer's next filter, calls it off.
"""

from __future__ import annotations

from sdschat.sds.config import Config
from sdschat.sds.limits import PUSHES_PER_CHANNEL
from sdschat.sds.rows import PushRow
from sdschat.sds.timers import Deadlines, to_mono, to_wall
from sdschat.sds.values import Now


class Push:
    """One message that may be pushed. `due` is None while nobody is known to lack it."""

    __slots__ = ("due", "lamport", "message_id", "not_before", "pushes", "wanted_by")

    def __init__(self, message_id: str, lamport: int) -> None:
        self.message_id = message_id
        self.lamport = lamport
        self.wanted_by: dict[str, None] = {}
        self.due: int | None = None
        self.pushes = 0
        self.not_before = -1


class PushBuffer:
    """Pushes that are due, and those of late, whose back-off still counts."""

    __slots__ = ("changed", "pushes", "timers")

    def __init__(self) -> None:
        self.pushes: dict[str, Push] = {}
        self.timers = Deadlines()
        self.changed: dict[str, None] = {}

    def entry(self, message_id: str, lamport: int) -> Push | None:
        """The entry of a message, made where there is none; nothing where the buffer is full of open ones."""
        push = self.pushes.get(message_id)
        if push is not None:
            return push
        if len(self.pushes) >= PUSHES_PER_CHANNEL:
            idle = [push for push in self.pushes.values() if push.due is None]
            if not idle:
                return None
            oldest = min(idle, key=lambda push: (push.not_before, push.message_id))
            self.forget(oldest.message_id)
        push = self.pushes[message_id] = Push(message_id, lamport)
        return push

    def schedule(self, push: Push, due: int) -> None:
        push.due = due
        self.timers.set(push.message_id, due)
        self.changed[push.message_id] = None

    def settle(self, push: Push, not_before: int) -> None:
        """Sent, by us or by another: nobody is waiting now, and it is not sent again before `not_before`."""
        push.pushes += 1
        push.not_before = not_before
        self.cancel(push)

    def cancel(self, push: Push) -> None:
        push.due = None
        push.wanted_by.clear()
        self.timers.discard(push.message_id)
        self.changed[push.message_id] = None

    def forget(self, message_id: str) -> None:
        if self.pushes.pop(message_id, None) is not None:
            self.timers.discard(message_id)
            self.changed[message_id] = None

    def wanted_by(self, sender_id: str) -> list[Push]:
        if not len(self.timers):
            return []
        return [push for push in self.pushes.values() if push.due is not None and sender_id in push.wanted_by]

    def open_ids(self) -> list[str]:
        return [key for key, push in self.pushes.items() if push.due is not None]

    def row(self, push: Push, now: Now) -> PushRow:
        due = 0 if push.due is None else to_wall(now, push.due)
        not_before = 0 if push.not_before < 0 else to_wall(now, push.not_before)
        return PushRow(push.message_id, push.lamport, tuple(push.wanted_by), due, push.pushes, not_before)

    def restore(self, row: PushRow, now: Now, config: Config) -> None:
        push = self.pushes[row.message_id] = Push(row.message_id, row.lamport)
        push.wanted_by = dict.fromkeys(row.wanted_by)
        push.pushes = row.pushes
        push.not_before = to_mono(now, row.not_before, 4 * config.sync_interval) if row.not_before else -1
        if row.due:
            self.schedule(push, to_mono(now, row.due, 100 * config.push_delay_max))
