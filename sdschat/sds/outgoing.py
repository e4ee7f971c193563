"""The buffer of unacknowledged outgoing messages (spec: Participant state, Review ACK Status).

A message leaves the buffer when it is acknowledged. The newest that did are still remembered, because evidence goes on
coming in and people ask who has a message. Where too many are possibly acknowledged, the oldest of these leave too:
they are retired.

Retired messages stay possibly acknowledged, and are sent again like any message that a peer turns out to lack. The
newest of them are remembered here, so that a mention, or an equal range, still acknowledges them; filters are no longer
compared with them. The older ones are forgotten: their state stays as it was.

The row of a message says whether it is resent, retired or forgotten, and age alone decides this: all that are forgotten
are older than all that are retired, and these are older than all that are resent. A restart reads only the newest rows,
and so restores the same state.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

from sdschat.sds.limits import POSSIBLY_ACKED_KEPT, RETIRED_KEPT, SETTLED_KEPT
from sdschat.sds.timers import Deadlines
from sdschat.sds.values import FORGOTTEN, RETIRED, AckState, Evidence, Now, OutgoingRow

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
        self.remove(oldest)
        self.forgot(oldest)
        return oldest

    def remove(self, message: MessageType) -> bool:
        """Remove a message that is acknowledged after all. Return False if it was not retired."""
        if self._kept.pop(message.message_id, None) is None:
            return False
        del self._ages[bisect_left(self._ages, (message.lamport, message.message_id))]
        return True

    def forgot(self, message: MessageType) -> None:
        self._forgotten = max(self._forgotten, (message.lamport, message.message_id))


@dataclass(slots=True, eq=False)
class Outgoing:
    """An own message and what is known of its fate."""

    message_id: str
    # Its Lamport timestamp.
    lamport: int
    # It only ever grows.
    state: AckState = field(default=AckState.UNACKED, init=False)
    # Packets of it that went out, the first one counted.
    sends: int = field(default=0, init=False)
    # Monotonic milliseconds of the next resend while it is in the buffer; `RETIRED` or `FORGOTTEN` afterwards.
    due: int = field(default=0, init=False)
    # By participant, one piece each, at most `MAX_EVIDENCE`, in the order in which it came.
    evidence: dict[str, Evidence] = field(default_factory=dict, init=False)
    # Participants whose evidence is no filter: those of `evidence` that are proven, in that order.
    proven_by: tuple[str, ...] = field(default=(), init=False)
    # The others of `evidence`, in that order.
    perhaps_by: tuple[str, ...] = field(default=(), init=False)
    # By participant, at most `MAX_UNPROVEN`: claims without a signature. They are shown, and change no state.
    unproven: dict[str, Evidence] = field(default_factory=dict, init=False)

    def note(self, evidence: Evidence) -> None:
        """Keep it in the place of what this participant told before, and as the last: in the order of a restart."""
        sender_id = evidence.sender_id
        if self.unproven:
            self.unproven.pop(sender_id, None)
        if not evidence.signed:
            self.unproven[sender_id] = evidence
            return
        old = self.evidence.get(sender_id)
        if old is not None:
            self.forget(old)
        self.evidence[sender_id] = evidence
        if evidence.certain:
            self.proven_by += (sender_id,)
        else:
            self.perhaps_by += (sender_id,)

    def forget(self, filter_: Evidence) -> None:
        """Drop a filter from what is kept. Only filters go: what is proven stays."""
        sender_id = filter_.sender_id
        if not filter_.signed:
            del self.unproven[sender_id]
            return
        del self.evidence[sender_id]
        self.perhaps_by = tuple(other for other in self.perhaps_by if other != sender_id)


@dataclass(slots=True, eq=False)
class OutgoingBuffer:
    """Open messages by age, those to be resent by time, and the last that were acknowledged."""

    # By id: messages that are resent. Each is unacknowledged, or among the newest that are possibly acknowledged.
    open: dict[str, Outgoing] = field(default_factory=dict, init=False)
    # By id: the newest `SETTLED_KEPT` that are acknowledged.
    settled: dict[str, Outgoing] = field(default_factory=dict, init=False)
    # The newest `RETIRED_KEPT` that are possibly acknowledged and no longer resent.
    retired: RetiredBuffer[Outgoing] = field(default_factory=RetiredBuffer, init=False)
    # The three above together: messages of which more evidence still counts.
    known: dict[str, Outgoing] = field(default_factory=dict, init=False)
    # Times of the next resend, for every message in `open` once it is armed.
    timers: Deadlines = field(default_factory=Deadlines, init=False)
    # Monotonic milliseconds of the sweep that sends the last message that was never sent; -1: none waits. What is
    # written meanwhile waits as well: it depends on those before it.
    unsent_until: int = field(default=-1, init=False)
    # By id: messages that differ from their row on disk.
    changed: dict[str, Outgoing] = field(default_factory=dict, init=False)
    # (Lamport, id) of all in `open`, in ascending order; others in it are out of date.
    _ages: list[tuple[int, str]] = field(default_factory=list, init=False)
    # Heap of (Lamport, id) of those in `open` that are possibly acknowledged; others in it are out of date.
    _possibly: list[tuple[int, str]] = field(default_factory=list, init=False)
    # Number of messages in `open` that are possibly acknowledged, at most `POSSIBLY_ACKED_KEPT` between two calls.
    _possible: int = field(default=0, init=False)

    def add(self, message: Outgoing) -> None:
        """Put in a new message. `arm` comes next, and has it saved."""
        self._open(message)
        self._forget_ages()

    def _open(self, message: Outgoing) -> None:
        self.open[message.message_id] = self.known[message.message_id] = message
        self._ages.append((message.lamport, message.message_id))

    def _forget_ages(self) -> None:
        """Let go of the ages of messages that are no longer open, once most of them are."""
        if len(self._ages) > 64 + 2 * len(self.open):
            self._ages[:] = [age for age in self._ages if age[1] in self.open]

    def arm(self, message: Outgoing, due: int) -> None:
        message.due = due
        self.timers.set(message.message_id, due)
        self.changed[message.message_id] = message

    def queue(self, message: Outgoing, due: int) -> None:
        """Let a message that was never sent wait for a sweep."""
        self.unsent_until = max(self.unsent_until, due)
        self.arm(message, due)

    def newest_first(self, floor: int, unseen_by: str = "", *, unproven: bool = False) -> Iterator[Outgoing]:
        """Yield the open messages dated from `floor` on, of which this participant has told nothing yet, with a
        signature, or `unproven`, without one."""
        self._forget_ages()
        ages = self._ages
        start = bisect_left(ages, (floor, "")) if floor else 0
        for place in range(len(ages) - 1, start - 1, -1):
            message = self.open.get(ages[place][1])
            if message is None or unseen_by in message.evidence or (unproven and unseen_by in message.unproven):
                continue
            yield message

    def oldest_first(self) -> Iterator[Outgoing]:
        """Return an iterator over the open messages."""
        self._forget_ages()
        return (self.open[message_id] for _, message_id in self._ages if message_id in self.open)

    def possibly(self, message: Outgoing) -> list[str]:
        """Note that a message is possibly acknowledged. Only the newest of these stay in the buffer: with one peer that
        never says more than its filter does, all that was ever written would. Return the ids that leave the buffer for
        it, which may be this one."""
        message.state = AckState.POSSIBLY_ACKED
        self.changed[message.message_id] = message
        self._possible += 1
        if self.retired.is_newer((message.lamport, message.message_id)):
            self._retire(message)
            return [message.message_id]
        heappush(self._possibly, (message.lamport, message.message_id))
        gone: list[str] = []
        while self._possible > POSSIBLY_ACKED_KEPT:
            oldest = self.open.get(heappop(self._possibly)[1])
            if oldest is not None:  # otherwise it was acknowledged meanwhile
                self._retire(oldest)
                gone.append(oldest.message_id)
        return gone

    def _retire(self, message: Outgoing) -> None:
        self._possible -= 1
        del self.open[message.message_id]
        self.timers.discard(message.message_id)
        self._put_retired(message)

    def _put_retired(self, message: Outgoing) -> None:
        message.due = RETIRED
        self.changed[message.message_id] = self.known[message.message_id] = message
        forgotten = self.retired.add(message)
        if forgotten is not None:
            forgotten.due = FORGOTTEN
            del self.known[forgotten.message_id]
            self.changed[forgotten.message_id] = forgotten

    def settle(self, message: Outgoing) -> None:
        """Note that a message is acknowledged, and take it out of the buffer."""
        if self.retired.remove(message):
            pass  # no longer resent, and not counted
        elif message.state is AckState.POSSIBLY_ACKED:
            self._possible -= 1
            if len(self._possibly) > 64 + 2 * self._possible:
                self._possibly = [age for age in self._possibly if age[1] in self.open and age[1] != message.message_id]
                heapify(self._possibly)
        message.state = AckState.ACKED
        message.due = 0
        self.open.pop(message.message_id, None)
        self.timers.discard(message.message_id)
        self.changed[message.message_id] = message
        self._remember(message)

    def _remember(self, message: Outgoing) -> None:
        self.settled[message.message_id] = self.known[message.message_id] = message
        if len(self.settled) > SETTLED_KEPT:
            oldest = min(self.settled.values(), key=lambda old: (old.lamport, old.message_id))
            del self.settled[oldest.message_id], self.known[oldest.message_id]

    def row(self, message: Outgoing, now: Now) -> OutgoingRow:
        due = now.to_wall(message.due) if message.message_id in self.open else message.due
        evidence = (*message.evidence.values(), *message.unproven.values())
        return OutgoingRow(message.message_id, message.lamport, message.state, message.sends, due, evidence)

    def restore(self, row: OutgoingRow, now: Now, within: int) -> None:
        message = Outgoing(row.message_id, row.lamport)
        message.state = row.state
        message.sends = row.sends
        for evidence in row.evidence:
            message.note(evidence)
        if row.state is AckState.ACKED:
            self._remember(message)
            return
        if not row.resent:
            self._restore_retired(message, row.due)
            return
        message.due = now.to_mono(row.due, within)
        if not row.sends:
            message.due = min(message.due, now.mono)
            self.unsent_until = max(self.unsent_until, message.due)
        self._open(message)
        self.timers.set(message.message_id, message.due)
        if row.state is AckState.POSSIBLY_ACKED:
            self.possibly(message)

    def _restore_retired(self, message: Outgoing, due: int) -> None:
        if due == RETIRED:
            self._put_retired(message)
        else:
            self.retired.forgot(message)
