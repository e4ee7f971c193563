"""One peer: its `state` (2/MVDS, State), the acks and ephemeral messages for its next payload, and refused messages.

Refused messages are remembered so that they are not requested again while the reason lasts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from sdschat.mvds import limits
from sdschat.mvds.limits import (
    ACKS_PER_PEER,
    EPHEMERAL_PER_PEER,
    KIB,
    OFFER_WINDOW,
    OFFERS_PER_PEER,
    PARENTS_PER_PEER,
)
from sdschat.mvds.values import Message, PeerRow, RecordRow, RecordType

START = (-(2**63), b"")  # a cursor before every record
_FIRST_COST = 16 * KIB  # bytes assumed for a message before the first one came: few are requested at first
_AVERAGED = 16  # messages: each one moves the average size by one part in so many


class SendQueue(IntEnum):
    """Queues of records. Offers not sent yet have their own, because only `OFFER_WINDOW` may be unanswered."""

    REQUEST = 0
    MESSAGE = 1
    SENT_OFFER = 2
    NEW_OFFER = 3


def queue_of(record: RecordRow) -> SendQueue:
    match record.type:
        case RecordType.REQUEST:
            return SendQueue.REQUEST
        case RecordType.MESSAGE:
            return SendQueue.MESSAGE
        case RecordType.OFFER:
            return SendQueue.SENT_OFFER if record.attempt else SendQueue.NEW_OFFER


@dataclass(slots=True, eq=False)
class Peer:
    """Records of one peer by message, with a heap for each queue.

    A heap is never searched: a changed record is pushed again, and an entry that differs from its record is skipped
    when it comes up.
    """

    # As it is on disk once the journal is applied.
    row: PeerRow
    # Groups shared with the peer. Never empty between two verbs.
    groups: set[bytes] = field(default_factory=set, init=False)
    # By message id: `state` of the specification, one record for each message at most.
    records: dict[bytes, RecordRow] = field(default_factory=dict, init=False)
    # Message ids of the expired records: an index of `records`.
    expired: set[bytes] = field(default_factory=set, init=False)
    # Number of records of each type, expired ones too: an index of `records`.
    counts: Counter[RecordType] = field(default_factory=Counter, init=False)
    # Message ids to acknowledge in the next payload, in order. Then forgotten: acks are never retransmitted.
    acks: dict[bytes, None] = field(default_factory=dict, init=False)
    # Ephemeral messages for the next payload, in order. Then forgotten.
    ephemeral: list[Message] = field(default_factory=list, init=False)
    # Number of records in each queue that have not expired: an index of `records`.
    unexpired: Counter[SendQueue] = field(default_factory=Counter, init=False)
    # Message ids that the peer offers and that are not requested yet, in order of arrival. In memory only, because
    # offers are repeated.
    open_offers: dict[bytes, None] = field(default_factory=dict, init=False)
    # Message ids to request before `open_offers`: parents, and refused messages whose parents have come. In memory.
    priority: set[bytes] = field(default_factory=set, init=False)
    # Message ids that room is reserved for: each has a REQUEST record sent fewer than `PROMPT_ATTEMPTS` times.
    expected: set[bytes] = field(default_factory=set, init=False)
    # The part of `expected` that came from `priority`.
    expected_priority: set[bytes] = field(default_factory=set, init=False)
    # Moving average of `memory_cost` of the peer's messages, in bytes.
    average_cost: int = field(default=_FIRST_COST, init=False)
    # Heap of (timestamp of the waiting child, message id): exactly the ids of `priority`.
    _priority_heap: list[tuple[int, bytes]] = field(default_factory=list, init=False)
    # Heaps of (Send Epoch, timestamp, message id). They have an entry for each record that has not expired; other
    # entries are out of date.
    _heaps: dict[SendQueue, list[tuple[int, int, bytes]]] = field(
        default_factory=lambda: {queue: [] for queue in SendQueue}, init=False
    )

    @property
    def name(self) -> str:
        return self.row.peer

    def set(self, record: RecordRow) -> None:
        """Insert or replace the record of a message."""
        self.remove(record.message_id)
        self.records[record.message_id] = record
        self.counts[record.type] += 1
        if record.expired:
            self.expired.add(record.message_id)
            return
        queue = queue_of(record)
        self.unexpired[queue] += 1
        heap = self._heaps[queue]
        heappush(heap, (record.send_epoch, *record.order))
        if len(heap) > 2 * len(self.records) + 64:
            self._rebuild(queue)

    def remove(self, message_id: bytes) -> RecordRow | None:
        record = self.records.pop(message_id, None)
        if record is not None:
            self.counts[record.type] -= 1
            self.unexpired[queue_of(record)] -= not record.expired
            self.expired.discard(message_id)
        return record

    def _rebuild(self, queue: SendQueue) -> None:
        rows = (row for row in self.records.values() if queue_of(row) is queue and not row.expired)
        self._heaps[queue] = [(row.send_epoch, *row.order) for row in rows]
        heapify(self._heaps[queue])

    def _top(self, queue: SendQueue) -> RecordRow | None:
        """Return the record of a queue that is due first, or None. Removes entries that are out of date."""
        heap = self._heaps[queue]
        while heap:
            record = self.records.get(heap[0][2])
            now = None if record is None or record.expired else (record.send_epoch, *record.order)
            if record is not None and queue_of(record) is queue and heap[0] == now:
                return record
            heappop(heap)
        return None

    def offer_room(self, sending: int = 0) -> int:
        """Return the number of new offers that may be sent after `sending` messages: no more than the peer can process.
        A peer that does not answer gets the same offers again, and further ones once it answers."""
        return OFFER_WINDOW - self.unexpired[SendQueue.SENT_OFFER] - max(0, self.unexpired[SendQueue.MESSAGE] - sending)

    @property
    def idle(self) -> bool:
        """True if nothing is to be sent to the peer or requested from it."""
        waits = self.records or self.acks or self.ephemeral or self.open_offers or self.priority
        return not waits and self.row.cursor is None

    def next_epoch(self) -> int | None:
        """Return the least Send Epoch of all records that may be sent, or None."""
        queues = SendQueue if self.offer_room() > 0 else (SendQueue.REQUEST, SendQueue.MESSAGE, SendQueue.SENT_OFFER)
        tops = (self._top(queue) for queue in queues)
        return min((record.send_epoch for record in tops if record is not None), default=None)

    def due(self, queue: SendQueue, epoch: int) -> RecordRow | None:
        """Return the next record of a queue with Send Epoch <= epoch. It stays until it is `set` anew or removed."""
        record = self._top(queue)
        return None if record is None or record.send_epoch > epoch else record

    def add_ack(self, message_id: bytes) -> None:
        if len(self.acks) < ACKS_PER_PEER:
            self.acks[message_id] = None

    def add_open_offer(self, message_id: bytes) -> bool:
        """Remember an offer that is not requested yet. False if there are too many already."""
        if message_id not in self.open_offers and len(self.open_offers) >= OFFERS_PER_PEER:
            return False
        self.open_offers[message_id] = None
        return True

    def prioritize(self, timestamp: int, message_id: bytes) -> bool:
        """Queue a message to be requested before others; `timestamp` is that of the child that waits for it. False if
        too many are queued already."""
        if message_id not in self.priority:
            if len(self.priority) >= PARENTS_PER_PEER:
                return False
            self.priority.add(message_id)
            heappush(self._priority_heap, (timestamp, message_id))
        return True

    def pop_priority(self) -> bytes:
        """Take the message to request next out of `priority`: that with the oldest child."""
        message_id = heappop(self._priority_heap)[1]
        self.priority.discard(message_id)
        return message_id

    def expect(self, message_id: bytes, *, priority: bool = False) -> None:
        self.expected.add(message_id)
        if priority:
            self.expected_priority.add(message_id)

    def stop_expecting(self, message_id: bytes) -> None:
        self.expected.discard(message_id)
        self.expected_priority.discard(message_id)

    def update_average_cost(self, cost: int) -> None:
        """Note a received message of `cost` bytes."""
        self.average_cost += (cost - self.average_cost) // _AVERAGED

    def add_ephemeral(self, message: Message) -> None:
        if len(self.ephemeral) < EPHEMERAL_PER_PEER:
            self.ephemeral.append(message)

    def after_cursor(self, soon: int, expire_after: int) -> list[RecordRow]:
        """Return the records that this round of bringing forward has not reached and that are not sent by the epoch
        `soon`, oldest message first: they are due later, or have expired, or would when they are due."""
        cursor = self.row.cursor
        if cursor is None:
            return []
        rows = [
            row for row in self.records.values() if row.expired or row.send_epoch > soon or _spent(row, expire_after)
        ]
        return sorted((row for row in rows if row.order > cursor), key=lambda row: row.order)


def _spent(row: RecordRow, expire_after: int) -> bool:
    return bool(expire_after) and row.attempt >= expire_after


class _Declined(NamedTuple):
    timestamp: int  # of the message, as it came
    lacking: set[bytes]  # parents that must be delivered first, not all of many; empty if the group is not shared


@dataclass(slots=True, eq=False)
class DeclinedMessages:
    """Refused messages by peer. In memory only: after a restart each of them may be sent and refused once more.

    A message without room in the buffer needs no room once its parents are delivered.
    """

    # By peer and message id, oldest first; at most `DECLINED_PER_PEER` for each peer.
    _by_peer: defaultdict[str, dict[bytes, _Declined]] = field(default_factory=lambda: defaultdict(dict), init=False)
    # (peer, message id) of the messages that lack a parent, by parent: an index of `_by_peer`; no set is empty.
    _children: defaultdict[bytes, set[tuple[str, bytes]]] = field(default_factory=lambda: defaultdict(set), init=False)

    def holds(self, peer: str, message_id: bytes) -> bool:
        return peer in self._by_peer and message_id in self._by_peer[peer]

    def add(self, peer: str, message_id: bytes, timestamp: int, lacking: tuple[bytes, ...]) -> None:
        self._forget(peer, message_id)
        if len(self._by_peer[peer]) >= limits.DECLINED_PER_PEER:
            self._forget(peer, next(iter(self._by_peer[peer])))
        watched = lacking[: limits.DECLINED_PARENTS]
        self._by_peer[peer][message_id] = _Declined(timestamp, set(watched))
        for parent in watched:
            self._children[parent].add((peer, message_id))

    def _forget(self, peer: str, message_id: bytes) -> None:
        found = self._by_peer[peer].pop(message_id, None)
        for parent in found.lacking if found is not None else ():
            self._drop_child(parent, (peer, message_id))

    def _drop_child(self, parent: bytes, child: tuple[str, bytes]) -> None:
        self._children[parent].discard(child)
        if not self._children[parent]:
            del self._children[parent]

    def parent_delivered(self, parent: bytes) -> list[tuple[str, int, bytes]]:
        """Note a delivered parent. Return, and forget, the messages that lack no other: (peer, timestamp, id)."""
        ready = []
        for peer, message_id in sorted(self._children.pop(parent, ())):
            found = self._by_peer[peer][message_id]
            found.lacking.discard(parent)
            if not found.lacking:
                del self._by_peer[peer][message_id]
                ready.append((peer, found.timestamp, message_id))
        return ready

    def groups_changed(self) -> None:
        """Forget messages refused because of their group: it may be shared now."""
        for declined in self._by_peer.values():
            for message_id in [one for one, found in declined.items() if not found.lacking]:
                del declined[message_id]

    def drop_peer(self, peer: str) -> None:
        for message_id in list(self._by_peer.get(peer, ())):
            self._forget(peer, message_id)
        self._by_peer.pop(peer, None)
