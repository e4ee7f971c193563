"""The parts of an engine that its rules work on: peers, groups, the graph, and what is ready to be handed over."""

from __future__ import annotations

from collections import Counter, defaultdict

from sdschat.mvds import limits
from sdschat.mvds.config import Config
from sdschat.mvds.dag import Heads, Waiting
from sdschat.mvds.declined import DeclinedMessages
from sdschat.mvds.epochs import Backoff, EpochClock
from sdschat.mvds.events import Event, Rejected
from sdschat.mvds.peers import START, Peer
from sdschat.mvds.rows import (
    AheadRow,
    GroupRow,
    HeadsRow,
    Journal,
    MessageRow,
    PeerRow,
    RecordRow,
    RecordType,
    WaitingRow,
)
from sdschat.mvds.values import Archive, Message, Moment, Packet, Reason


class Core:
    """State with the few operations that keep it, its indexes and the journal in step."""

    __slots__ = (
        "archive",
        "backoff",
        "clock",
        "config",
        "declined",
        "ephemeral_seen",
        "epoch",
        "events",
        "fresh",
        "groups",
        "heads",
        "journal",
        "packets",
        "peers",
        "refused",
        "requested",
        "waiting",
        "wall",
    )

    def __init__(self, config: Config, secret: bytes, archive: Archive, now: Moment) -> None:
        self.config = config
        self.archive = archive
        self.backoff = Backoff(config, secret)
        self.clock = EpochClock(config.epoch, now)
        self.epoch = self.clock.advance(now)
        self.wall = now.wall
        self.peers: dict[str, Peer] = {}
        self.groups: dict[bytes, GroupRow] = {}
        self.waiting = Waiting()
        self.declined = DeclinedMessages()
        self.heads = Heads()
        self.requested: defaultdict[bytes, set[str]] = defaultdict(set)  # message -> peers with a REQUEST record
        self.fresh: dict[bytes, Message] = {}  # kept, but not yet handed over to be written
        self.ephemeral_seen: dict[bytes, None] = {}
        self.journal = Journal()
        self.packets: list[Packet] = []
        self.events: list[Event] = []
        self.refused: Counter[tuple[Reason, str]] = Counter()

    def tick(self, now: Moment) -> None:
        self.epoch = self.clock.advance(now)
        self.wall = now.wall

    # Messages

    def keep(self, row: MessageRow) -> None:
        self.fresh[row.message_id] = row.message
        self.journal.keep(row)

    def released(self, message_id: bytes) -> bool:
        """Whether a message was handed over, now or at any time."""
        return message_id in self.fresh or self.archive.holds(message_id)

    def holds(self, message_id: bytes) -> bool:
        """Whether a message is here, be it that it still waits for its parents."""
        return message_id in self.waiting.rows or self.released(message_id)

    def load(self, message_id: bytes) -> Message | None:
        """The body of a message that was handed over."""
        return self.fresh.get(message_id) or self.archive.load(message_id)

    def find(self, message_id: bytes) -> Message | None:
        """The body of a message that is here."""
        row = self.waiting.rows.get(message_id)
        return row.message if row is not None else self.load(message_id)

    # Records

    def set_record(self, peer: Peer, record: RecordRow) -> None:
        peer.set(record)
        if record.type is RecordType.REQUEST:
            self.requested[record.message_id].add(peer.name)
        self.journal.put(record)

    def drop_record(self, peer: Peer, message_id: bytes) -> None:
        record = peer.remove(message_id)
        if record is None:
            return
        peer.expect_no_more(message_id)
        self._forget_request(message_id, peer.name)
        self.journal.drop(record)

    def _forget_request(self, message_id: bytes, name: str) -> None:
        if message_id in self.requested:
            self.requested[message_id].discard(name)
            if not self.requested[message_id]:
                del self.requested[message_id]

    def set_peer(self, peer: Peer, row: PeerRow) -> None:
        if row != peer.row:
            peer.row = row
            self.journal.put(row)

    def ask_forward(self, peer: Peer) -> None:
        """Have the peer's records brought forward as soon as that is allowed; a round under way goes on."""
        if peer.records and peer.row.cursor is None:
            self.set_peer(peer, peer.row._replace(cursor=START))

    # The graph

    def set_waiting(self, row: WaitingRow) -> None:
        self.waiting.add(row)
        self.journal.put(row)

    def extend_heads(self, message_id: bytes, message: Message) -> None:
        """4/MVDS-META, parents: put a message that was handed over into the graph of its group."""
        self.heads.extend(message_id, message)
        if message_id in self.heads.ahead:
            self.heads.ahead.discard(message_id)
            self.journal.drop(AheadRow(message_id))
        for parent in message.parents:
            if not self.released(parent) and self.heads.note_ahead(parent):
                self.journal.put(AheadRow(parent))
        self.journal.put(HeadsRow(message.group_id, self.heads.all(message.group_id)))

    # What peers sent

    def refuse(self, reason: Reason, detail: str = "") -> None:
        """Count a refusal; the end of the packet tells, once for each reason."""
        self.refused[(reason, detail)] += 1

    def tell_refused(self, peer: str) -> None:
        for (reason, detail), count in self.refused.items():
            self.events.append(Rejected(peer, reason, count, detail))
        self.refused.clear()

    def first_sight(self, message_id: bytes) -> bool:
        """Whether an ephemeral message was not seen lately. Only in memory: ephemeral messages leave no trace."""
        if message_id in self.ephemeral_seen:
            return False
        self.ephemeral_seen[message_id] = None
        if len(self.ephemeral_seen) > limits.EPHEMERAL_SEEN:
            del self.ephemeral_seen[next(iter(self.ephemeral_seen))]
        return True
