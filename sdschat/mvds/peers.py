"""What a node knows of one peer: its `state` (2/MVDS, State), and what waits for its next payload."""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from heapq import heapify, heappop, heappush

from sdschat.mvds.limits import (
    ACKS_PER_PEER,
    EPHEMERAL_PER_PEER,
    KIB,
    OFFER_WINDOW,
    OFFERS_PER_PEER,
    PARENTS_PER_PEER,
)
from sdschat.mvds.rows import PeerRow, RecordRow, RecordType
from sdschat.mvds.values import Message

START = (-(2**63), b"")  # a cursor before every record
_UNKNOWN_COST = 16 * KIB  # of a message of a peer that sent none yet: few are asked for until it is known
_LATELY = 16  # messages after which most of what was before is forgotten


class Lane(IntEnum):
    """In which queue a record waits. New offers have their own, because only so many may be open at a time."""

    REQUEST = 0
    MESSAGE = 1
    OFFERED = 2
    TO_OFFER = 3


def lane_of(record: RecordRow) -> Lane:
    match record.type:
        case RecordType.REQUEST:
            return Lane.REQUEST
        case RecordType.MESSAGE:
            return Lane.MESSAGE
        case RecordType.OFFER:
            return Lane.OFFERED if record.attempt else Lane.TO_OFFER


class Peer:
    """Records by message, and for each lane a heap of when they are due.

    A heap is never searched: a changed record is pushed again, and an entry that is not what its record says now is
    skipped when it comes up.
    """

    __slots__ = (
        "_heaps",
        "_queue",
        "acks",
        "chased",
        "counts",
        "ephemeral",
        "expected",
        "expired",
        "first",
        "groups",
        "live",
        "offered",
        "records",
        "row",
        "usual_cost",
    )

    def __init__(self, row: PeerRow) -> None:
        self.row = row
        self.groups: set[bytes] = set()  # shared with it
        self.records: dict[bytes, RecordRow] = {}
        self.expired: set[bytes] = set()
        self.counts: Counter[RecordType] = Counter()
        self.acks: dict[bytes, None] = {}  # for the next payload, then forgotten: never retransmitted
        self.ephemeral: list[Message] = []  # for the next payload, likewise
        self.live: Counter[Lane] = Counter()  # records that have not expired
        self.offered: dict[bytes, None] = {}  # not asked for yet; only in memory, for offers are repeated
        self.first: set[bytes] = set()  # to be asked for before that: parents, those of the oldest message first
        self.expected: set[bytes] = set()  # asked for lately, so that it may come any time
        self.chased: set[bytes] = set()  # of that, what was in `first`
        self.usual_cost = _UNKNOWN_COST  # of its messages, lately
        self._queue: list[tuple[int, bytes]] = []  # heap of `first`
        self._heaps: dict[Lane, list[tuple[int, int, bytes]]] = {lane: [] for lane in Lane}

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
        lane = lane_of(record)
        self.live[lane] += 1
        heap = self._heaps[lane]
        heappush(heap, (record.send_epoch, *record.order))
        if len(heap) > 2 * len(self.records) + 64:
            self._rebuild(lane)

    def remove(self, message_id: bytes) -> RecordRow | None:
        record = self.records.pop(message_id, None)
        if record is not None:
            self.counts[record.type] -= 1
            self.live[lane_of(record)] -= not record.expired
            self.expired.discard(message_id)
        return record

    def _rebuild(self, lane: Lane) -> None:
        rows = (row for row in self.records.values() if lane_of(row) is lane and not row.expired)
        self._heaps[lane] = [(row.send_epoch, *row.order) for row in rows]
        heapify(self._heaps[lane])

    def _top(self, lane: Lane) -> RecordRow | None:
        """The record of a lane that is due first; drops entries that are out of date on the way."""
        heap = self._heaps[lane]
        while heap:
            record = self.records.get(heap[0][2])
            now = None if record is None or record.expired else (record.send_epoch, *record.order)
            if record is not None and lane_of(record) is lane and heap[0] == now:
                return record
            heappop(heap)
        return None

    def offer_room(self, sending: int = 0) -> int:
        """How many new offers may go out, when so many messages go before them: no more than the peer can take up.
        A peer that does not answer gets these again and again, and the others when it does."""
        return OFFER_WINDOW - self.live[Lane.OFFERED] - max(0, self.live[Lane.MESSAGE] - sending)

    @property
    def idle(self) -> bool:
        """Nothing waits for it."""
        waits = self.records or self.acks or self.ephemeral or self.offered or self.first
        return not waits and self.row.cursor is None

    def next_epoch(self) -> int | None:
        """The least Send Epoch of all records that can go."""
        lanes = Lane if self.offer_room() > 0 else (Lane.REQUEST, Lane.MESSAGE, Lane.OFFERED)
        tops = (self._top(lane) for lane in lanes)
        return min((record.send_epoch for record in tops if record is not None), default=None)

    def due(self, lane: Lane, epoch: int) -> RecordRow | None:
        """The next record of a lane with Send Epoch <= epoch. It stays until it is `set` anew or removed."""
        record = self._top(lane)
        return None if record is None or record.send_epoch > epoch else record

    def add_ack(self, message_id: bytes) -> None:
        if len(self.acks) < ACKS_PER_PEER:
            self.acks[message_id] = None

    def remember_offer(self, message_id: bytes) -> bool:
        """False if too many wait already."""
        if message_id not in self.offered and len(self.offered) >= OFFERS_PER_PEER:
            return False
        self.offered[message_id] = None
        return True

    def ask_first(self, timestamp: int, message_id: bytes) -> bool:
        """Have a message asked for before others; `timestamp` is that of what waits for it. False if too many are."""
        if message_id not in self.first:
            if len(self.first) >= PARENTS_PER_PEER:
                return False
            self.first.add(message_id)
            heappush(self._queue, (timestamp, message_id))
        return True

    def next_first(self) -> bytes:
        message_id = heappop(self._queue)[1]
        self.first.discard(message_id)
        return message_id

    def expect(self, message_id: bytes, *, chased: bool = False) -> None:
        self.expected.add(message_id)
        if chased:
            self.chased.add(message_id)

    def expect_no_more(self, message_id: bytes) -> None:
        self.expected.discard(message_id)
        self.chased.discard(message_id)

    def note_cost(self, cost: int) -> None:
        """A message of so many bytes came."""
        self.usual_cost += (cost - self.usual_cost) // _LATELY

    def add_ephemeral(self, message: Message) -> None:
        if len(self.ephemeral) < EPHEMERAL_PER_PEER:
            self.ephemeral.append(message)

    def after_cursor(self, soon: int) -> list[RecordRow]:
        """The records that have not yet been brought forward in this round and are not due by `soon`, oldest message
        first."""
        cursor = self.row.cursor
        if cursor is None:
            return []
        rows = (row for row in self.records.values() if row.expired or row.send_epoch > soon)
        return sorted((row for row in rows if row.order > cursor), key=lambda row: row.order)
