"""State of an engine: peers, groups, the graph of messages, and the output that `take` returns.

Groups are "independent synchronization contexts between peers" (2/MVDS, Payloads).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from sdschat.mvds import limits
from sdschat.mvds.config import Config
from sdschat.mvds.dag import Heads, WaitingMessages
from sdschat.mvds.events import Event, RecordDropped, Rejected
from sdschat.mvds.peers import START, DeclinedMessages, Peer
from sdschat.mvds.retransmission import EpochClock, SendBackoff
from sdschat.mvds.values import (
    AheadRow,
    GroupRow,
    HeadsRow,
    Message,
    MessageArchive,
    MessageRow,
    Moment,
    Packet,
    PeerRow,
    Reason,
    RecordRow,
    RecordType,
    WaitingRow,
    WriteCollector,
)


class Core:
    """State with the few operations that keep it, its indexes and the journal consistent.

    Peer names and message ids are as in the rows; epochs count from the Unix epoch in units of `mvds.epoch`.
    """

    def __init__(self, config: Config, secret: bytes, archive: MessageArchive, now: Moment) -> None:
        self.config = config
        # Delivered messages on disk. Disjoint from `unsaved` and from `waiting`.
        self.archive = archive
        self.backoff = SendBackoff(config, secret)
        self.clock = EpochClock(config.epoch, now)
        # The current epoch; it never decreases.
        self.epoch = self.clock.advance(now)
        # Wall clock at the last verb, in epoch milliseconds; it may jump.
        self.wall = now.wall
        # Peers by name: exactly those that share at least one group with us.
        self.peers: dict[str, Peer] = {}
        # Groups that we are in, by id. Every member is in `peers`, and its `Peer.groups` has the group.
        self.groups: dict[bytes, GroupRow] = {}
        # Messages that are acknowledged and on disk, and wait for parents. Each has a group in `groups`.
        self.waiting = WaitingMessages()
        # Messages that were refused. In memory only.
        self.declined = DeclinedMessages()
        # The messages without children, by group.
        self.heads = Heads()
        # Peers with a REQUEST record, by message id: an index of `Peer.records`; no set is empty.
        self.requesters: defaultdict[bytes, set[str]] = defaultdict(set)
        # Messages delivered since the last `take`, by id: their `Keep` is in `journal`, not yet in the archive.
        self.unsaved: dict[bytes, Message] = {}
        # Ids of the newest ephemeral messages, oldest first, at most `EPHEMERAL_SEEN`. In memory only.
        self.ephemeral_seen: dict[bytes, None] = {}
        # Output since the last `take`. Applied to the rows on disk, the writes make `take_snapshot(self)`.
        self.journal = WriteCollector()
        self.packets: list[Packet] = []
        self.events: list[Event] = []
        # Refusals in the payload being received, counted by reason and detail; empty between two verbs.
        self.refused: Counter[tuple[Reason, str]] = Counter()

    def tick(self, now: Moment) -> None:
        self.epoch = self.clock.advance(now)
        self.wall = now.wall

    # Messages

    def keep(self, row: MessageRow) -> None:
        self.unsaved[row.message_id] = row.message
        self.journal.keep(row)

    def is_delivered(self, message_id: bytes) -> bool:
        """True if a message was delivered, now or at any time."""
        return message_id in self.unsaved or self.archive.holds(message_id)

    def holds(self, message_id: bytes) -> bool:
        """True if a message is stored: delivered, or waiting for its parents."""
        return message_id in self.waiting.rows or self.is_delivered(message_id)

    def load(self, message_id: bytes) -> Message | None:
        """Return a delivered message, or None."""
        return self.unsaved.get(message_id) or self.archive.load(message_id)

    def find(self, message_id: bytes) -> Message | None:
        """Return a delivered or waiting message, or None."""
        row = self.waiting.rows.get(message_id)
        return row.message if row is not None else self.load(message_id)

    # Records

    def set_record(self, peer: Peer, record: RecordRow) -> None:
        peer.set(record)
        if record.type is RecordType.REQUEST:
            self.requesters[record.message_id].add(peer.name)
        self.journal.put(record)

    def drop_record(self, peer: Peer, message_id: bytes) -> None:
        record = peer.remove(message_id)
        if record is None:
            return
        peer.stop_expecting(message_id)
        self._forget_request(message_id, peer.name)
        self.journal.drop(record)

    def _forget_request(self, message_id: bytes, name: str) -> None:
        if message_id in self.requesters:
            self.requesters[message_id].discard(name)
            if not self.requesters[message_id]:
                del self.requesters[message_id]

    def set_peer(self, peer: Peer, row: PeerRow) -> None:
        if row != peer.row:
            peer.row = row
            self.journal.put(row)

    def schedule_reset(self, peer: Peer) -> None:
        """Bring the peer's records forward as soon as `mvds.presence_interval` allows; a round under way goes on."""
        if peer.records and peer.row.cursor is None:
            self.set_peer(peer, peer.row._replace(cursor=START))

    # The graph

    def set_waiting(self, row: WaitingRow) -> None:
        self.waiting.add(row)
        self.journal.put(row)

    def extend_heads(self, message_id: bytes, message: Message) -> None:
        """Put a delivered message into the graph of its group (4/MVDS-META, parents)."""
        self.heads.extend(message_id, message)
        if message_id in self.heads.absent_parents:
            self.heads.absent_parents.discard(message_id)
            self.journal.drop(AheadRow(message_id))
        for parent in message.parents:
            if not self.is_delivered(parent) and self.heads.note_absent_parent(parent):
                self.journal.put(AheadRow(parent))
        self.journal.put(HeadsRow(message.group_id, self.heads.all(message.group_id)))

    # Received payloads

    def refuse(self, reason: Reason, detail: str = "") -> None:
        """Count a refusal. `report_refused` makes one event of all with the same reason and detail."""
        self.refused[(reason, detail)] += 1

    def report_refused(self, peer: str) -> None:
        for (reason, detail), count in self.refused.items():
            self.events.append(Rejected(peer, reason, count, detail))
        self.refused.clear()

    def remember_ephemeral(self, message_id: bytes) -> bool:
        """Remember an ephemeral message; True if it is new. In memory only: ephemeral messages are never saved."""
        if message_id in self.ephemeral_seen:
            return False
        self.ephemeral_seen[message_id] = None
        if len(self.ephemeral_seen) > limits.EPHEMERAL_SEEN:
            del self.ephemeral_seen[next(iter(self.ephemeral_seen))]
        return True


def set_members(core: Core, group: bytes, members: Iterable[str]) -> None:
    """Join a group with these other members, or change them. Members that left are sent nothing more of it."""
    row = GroupRow(group, tuple(sorted(set(members))))
    old = core.groups.get(group)
    if old == row:
        return
    core.groups[group] = row
    core.journal.put(row)
    core.declined.groups_changed()
    for name in row.members:
        peer = core.peers.get(name) or _add_peer(core, name)
        peer.groups.add(group)
    for name in old.members if old is not None else ():
        if name not in row.members:
            _unshare(core, core.peers[name], group)


def leave_group(core: Core, group: bytes) -> None:
    """Leave a group. Its delivered messages stay in the archive; no message of it is sent or accepted any more."""
    row = core.groups.pop(group, None)
    if row is None:
        return
    core.journal.drop(row)
    core.journal.drop(HeadsRow(group, ()))
    core.heads.by_group.pop(group, None)
    for name in row.members:
        _unshare(core, core.peers[name], group)
    for waiting in [one for one in core.waiting.rows.values() if one.message.group_id == group]:
        core.waiting.remove(waiting.message_id)
        core.journal.drop(waiting)


def _add_peer(core: Core, name: str) -> Peer:
    peer = Peer(PeerRow(name))
    core.peers[name] = peer
    core.journal.put(peer.row)
    return peer


def _unshare(core: Core, peer: Peer, group: bytes) -> None:
    """Remove a group from those shared with a peer. With the last group the peer and all its records go."""
    peer.groups.discard(group)
    for record in sorted(peer.records.values(), key=lambda one: one.order):
        if record.group_id == group or not peer.groups:
            core.drop_record(peer, record.message_id)
            core.events.append(RecordDropped(record.message_id, peer.name, "left_group"))
    peer.ephemeral = [message for message in peer.ephemeral if message.group_id != group]
    if not peer.groups:
        core.journal.drop(peer.row)
        core.declined.drop_peer(peer.name)
        del core.peers[peer.name]
