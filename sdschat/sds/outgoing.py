"""The buffer of unacknowledged outgoing messages (spec: Participant state, Review ACK Status).

A message leaves the buffer when it is acknowledged. The newest that did are still remembered, because evidence goes
on coming in and people ask who has a message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from sdschat.sds.limits import POSSIBLY_ACKED_KEPT, SETTLED_KEPT
from sdschat.sds.rows import AckState, Evidence, OutgoingRow
from sdschat.sds.timers import Deadlines, to_mono, to_wall
from sdschat.sds.values import Now


class Outgoing:
    """An own message and what is known of its fate."""

    __slots__ = ("due", "evidence", "lamport", "message_id", "sends", "state")

    def __init__(self, message_id: str, lamport: int) -> None:
        self.message_id = message_id
        self.lamport = lamport
        self.state = AckState.UNACKED
        self.sends = 0
        self.due = 0
        self.evidence: dict[str, Evidence] = {}


class OutgoingBuffer:
    """Open messages by age, those to be resent by time, and the last that were acknowledged."""

    __slots__ = ("_ages", "_possible", "_possibly", "changed", "open", "settled", "timers")

    def __init__(self) -> None:
        self.open: dict[str, Outgoing] = {}
        self.settled: dict[str, Outgoing] = {}
        self.timers = Deadlines()
        self.changed: dict[str, Outgoing] = {}
        self._ages: list[tuple[int, str]] = []  # (Lamport, id), also of messages no longer open
        self._possibly: list[tuple[int, str]] = []  # a heap of those possibly acknowledged, also no longer so
        self._possible = 0  # how many are

    def add(self, message: Outgoing) -> None:
        self.open[message.message_id] = message
        self._ages.append((message.lamport, message.message_id))
        self.changed[message.message_id] = message

    def arm(self, message: Outgoing, due: int) -> None:
        message.due = due
        self.timers.set(message.message_id, due)
        self.changed[message.message_id] = message

    def newest_first(self, floor: int) -> Iterator[Outgoing]:
        """Open messages dated from `floor` on."""
        ages = self._ages
        if len(ages) > 64 + 2 * len(self.open):
            ages[:] = [age for age in ages if age[1] in self.open]
        start = bisect_left(ages, (floor, "")) if floor else 0
        for place in range(len(ages) - 1, start - 1, -1):
            message = self.open.get(ages[place][1])
            if message is not None:
                yield message

    def possibly(self, message: Outgoing) -> None:
        """Possibly acknowledged. Of these only the newest stay in the buffer: with one peer that never says more than
        its filter does, all that was ever written would. What leaves stays possibly acknowledged, and is sent again
        like any message that somebody turns out to lack."""
        message.state = AckState.POSSIBLY_ACKED
        self.changed[message.message_id] = message
        heappush(self._possibly, (message.lamport, message.message_id))
        self._possible += 1
        while self._possible > POSSIBLY_ACKED_KEPT:
            self._leave(heappop(self._possibly)[1])

    def _leave(self, message_id: str) -> None:
        message = self.open.get(message_id)
        if message is not None:  # otherwise it was acknowledged meanwhile
            self._possible -= 1
            del self.open[message_id]
            message.due = 0
            self.timers.discard(message_id)
            self.changed[message_id] = message

    def settle(self, message: Outgoing) -> None:
        """Acknowledged: out of the buffer."""
        if message.state is AckState.POSSIBLY_ACKED:
            self._possible -= 1
            if len(self._possibly) > 64 + 2 * self._possible:
                self._possibly = [age for age in self._possibly if age[1] in self.open and age[1] != message.message_id]
                heapify(self._possibly)
        message.state = AckState.ACKED
        message.due = 0
        del self.open[message.message_id]
        self.timers.discard(message.message_id)
        self.changed[message.message_id] = message
        self._remember(message)

    def _remember(self, message: Outgoing) -> None:
        self.settled[message.message_id] = message
        if len(self.settled) > SETTLED_KEPT:
            oldest = min(self.settled.values(), key=lambda old: (old.lamport, old.message_id))
            del self.settled[oldest.message_id]

    def row(self, message: Outgoing, now: Now) -> OutgoingRow:
        due = to_wall(now, message.due) if message.message_id in self.open else 0
        evidence = tuple(message.evidence.values())
        return OutgoingRow(message.message_id, message.lamport, message.state, message.sends, due, evidence)

    def restore(self, row: OutgoingRow, now: Now, within: int) -> None:
        message = Outgoing(row.message_id, row.lamport)
        message.state = row.state
        message.sends = row.sends
        message.evidence = {evidence.sender_id: evidence for evidence in row.evidence}
        if row.state is AckState.ACKED:
            self._remember(message)
            return
        message.due = to_mono(now, row.due, within)
        self.open[message.message_id] = message
        self._ages.append((message.lamport, message.message_id))
        self.timers.set(message.message_id, message.due)
        if row.state is AckState.POSSIBLY_ACKED:
            self.possibly(message)
