"""The engine of 2/MVDS for one node and all its peers and groups: its verbs. The rules are in `rules` and `flow`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sdschat.mvds import limits
from sdschat.mvds.config import Config
from sdschat.mvds.core import Core, leave_group, set_members
from sdschat.mvds.delivery import deliver, give_up_parents
from sdschat.mvds.events import Event, RecordDropped, Rejected
from sdschat.mvds.flow import advance_peer, note_contact, wake_epoch
from sdschat.mvds.packing import message_cost
from sdschat.mvds.peers import Peer
from sdschat.mvds.restore import load_snapshot, take_snapshot
from sdschat.mvds.rules import receive_payload, send_ephemeral, send_message
from sdschat.mvds.values import (
    GroupRow,
    Head,
    Message,
    MessageArchive,
    Metadata,
    Mode,
    Moment,
    Packet,
    Payload,
    Reason,
    RecordType,
    Refusal,
    Snapshot,
    Write,
    message_id,
)

_PER_MS = {"ns": 1_000_000, "ms": 1}


class Ready(NamedTuple):
    """Output of a verb, to be carried out in this order: the writes in one transaction, the packets, the events.

    Packets may be sent in any order and each may fail: everything that must arrive is in `state` and is sent again.
    """

    writes: tuple[Write, ...]
    packets: tuple[Packet, ...]
    events: tuple[Event, ...]


class Engine:
    """MVDS for one node. `receive`, `peer_online` and `peer_offline` take input from outside and never raise; the other
    verbs raise ValueError on wrong use. After any verb, `next_wake` is the time of the next `advance`, perhaps now."""

    def __init__(
        self,
        config: Config,
        secret: bytes,
        archive: MessageArchive,
        now: Moment,
        snapshot: Snapshot | None = None,
    ) -> None:
        """Start, or go on from a snapshot. `secret`: up to 64 bytes unknown to peers and the same after a restart."""
        self._core = Core(config, secret, archive, now)
        if snapshot is not None:
            load_snapshot(self._core, snapshot)

    # Groups and peers

    def join(self, group: bytes, members: Iterable[str]) -> None:
        """Join a group with exactly these other members, or change its members."""
        if len(group) != limits.GROUP_BYTES:
            raise ValueError(f"a group id has {limits.GROUP_BYTES} bytes, not {len(group)}")
        set_members(self._core, group, members)

    def leave(self, group: bytes) -> None:
        leave_group(self._core, group)

    def set_mode(self, peer: str, mode: Mode | None) -> None:
        """Set the mode for messages to this peer where `send` names none; None: as configured."""
        known = self._peer(peer)
        self._core.set_peer(known, known.row._replace(mode=mode))

    def peer_online(self, peer: str, now: Moment) -> None:
        """Note that the peer is online: its records are brought forward."""
        self._core.tick(now)
        known = self._core.peers.get(peer)
        if known is not None:
            self._core.schedule_reset(known)
            self._core.set_peer(known, known.row._replace(online=True))

    def peer_offline(self, peer: str, now: Moment) -> None:
        """Note that the peer is offline. Its records stay scheduled, because the report may be wrong and the spec wants
        them retransmitted. The next contact brings them forward."""
        self._core.tick(now)
        known = self._core.peers.get(peer)
        if known is not None:
            self._core.set_peer(known, known.row._replace(online=False))

    # Messages

    def send(
        self,
        group: bytes,
        body: bytes,
        now: Moment,
        *,
        mode: Mode | Mapping[str, Mode] | None = None,
        to: Iterable[str] | None = None,
        ephemeral: bool = False,
    ) -> bytes:
        """Send a message to the other members of a group, or to some of them; return its id.

        `mode` is for all, or by peer; peers not named there get it in the mode set for them.
        """
        core = self._core
        core.tick(now)
        row = self._group(group)
        names = row.members if to is None else tuple(sorted(set(to)))
        for name in names:
            if name not in row.members:
                raise ValueError(f"{name!r} is not in the group")
        message = self._compose(row, body, ephemeral)
        if message_cost(message) > core.config.packet_bytes:
            raise ValueError(f"a message of {len(body)} bytes does not fit into mvds.packet_bytes")
        mid = message_id(message)
        if ephemeral:
            for name in names:
                send_ephemeral(core, core.peers[name], message)
            return mid
        deliver(core, mid, message, "", ())
        for name in names:
            peer = core.peers[name]
            send_message(core, peer, mid, message, self._mode(peer, mode))
        return mid

    def share(self, peer: str, ids: Iterable[bytes], now: Moment, *, mode: Mode = Mode.INTERACTIVE) -> int:
        """Offer delivered messages to a peer; return the number offered.

        Ids that are not in the archive are left out, and so are those of groups that the peer is not in. Ephemeral
        messages are never in the archive, so they cannot be shared (4/MVDS-META).
        """
        core = self._core
        core.tick(now)
        known = self._peer(peer)
        shared = 0
        for mid in ids:
            message = core.load(mid)
            if message is not None and message.group_id in known.groups:
                send_message(core, known, mid, message, mode)
                shared += 1
        return shared

    def cancel(self, mid: bytes, peers: Iterable[str] | None = None) -> None:
        """Stop sending a message to these peers, or to all."""
        core = self._core
        for name in sorted(core.peers) if peers is None else peers:
            known = core.peers.get(name)
            record = known.records.get(mid) if known is not None else None
            if known is not None and record is not None and record.type is not RecordType.REQUEST:
                core.drop_record(known, mid)
                core.events.append(RecordDropped(mid, name, "cancelled"))

    def receive(self, peer: str, payload: Payload | Refusal, now: Moment) -> None:
        """Process a payload from a peer, or the codec's refusal of it. The transport guarantees the peer's name."""
        core = self._core
        core.tick(now)
        known = core.peers.get(peer)
        if isinstance(payload, Refusal):
            core.events.append(Rejected(peer, payload.reason, 1, payload.detail))
        elif known is None:
            core.events.append(Rejected(peer, Reason.NO_SHARED_GROUP, 1, ""))
        else:
            note_contact(core, known)
            receive_payload(core, known, payload)
            core.report_refused(peer)

    def sending(self, peer: str, mid: bytes) -> tuple[int, int] | None:
        """Return the number of sendings of a message to a peer, and the monotonic time of the next one if the peer does
        not acknowledge it before. Return None if the message is not, or not any more, being sent to this peer."""
        known = self._core.peers.get(peer)
        record = None if known is None else known.records.get(mid)
        return None if record is None else (record.send_count, self._core.clock.begin(record.send_epoch))

    # Time and output

    def advance(self, now: Moment) -> None:
        """Make the payloads that are due."""
        core = self._core
        core.tick(now)
        if (due := core.waiting.next_epoch()) is not None and due <= core.epoch:
            give_up_parents(core)
        for name in sorted(core.peers):
            peer = core.peers[name]
            if (wake := wake_epoch(core, peer)) is not None and wake <= core.epoch:
                advance_peer(core, peer)

    def next_wake(self) -> int | None:
        """Return the monotonic time at which to call `advance`, perhaps past; None: not before another verb."""
        core = self._core
        epochs = [] if (waiting := core.waiting.next_epoch()) is None else [waiting]
        for peer in core.peers.values():
            if not peer.idle and (wake := wake_epoch(core, peer)) is not None:
                epochs.append(wake)
        return core.clock.begin(min(epochs)) if epochs else None

    def take(self) -> Ready:
        """Return the output since the last call. Carry all of it out before calling the next verb."""
        core = self._core
        ready = Ready(core.journal.drain(), tuple(core.packets), tuple(core.events))
        core.unsaved.clear()
        core.packets.clear()
        core.events.clear()
        return ready

    def snapshot(self) -> Snapshot:
        """Return the rows on disk once all writes so far are applied."""
        return take_snapshot(self._core)

    # Parts of the verbs

    def _peer(self, name: str) -> Peer:
        peer = self._core.peers.get(name)
        if peer is None:
            raise ValueError(f"{name!r} is in none of our groups")
        return peer

    def _group(self, group: bytes) -> GroupRow:
        row = self._core.groups.get(group)
        if row is None:
            raise ValueError(f"not in the group {group.hex()}")
        return row

    def _mode(self, peer: Peer, wanted: Mode | Mapping[str, Mode] | None) -> Mode:
        """Return the mode wanted for the message and peer, else that of the peer, else that of the node."""
        chosen = wanted.get(peer.name) if isinstance(wanted, Mapping) else wanted
        return chosen or peer.row.mode or self._core.config.mode

    def _compose(self, row: GroupRow, body: bytes, ephemeral: bool) -> Message:
        """Make a message with a unique id: the timestamp is raised while a message with the same id is stored, because
        the same body may be sent twice in one unit of time."""
        core = self._core
        heads = core.heads.parents(row.group_id, len(row.members) + 1)
        metadata = None
        if ephemeral:
            metadata = Metadata(ephemeral=True)
        elif core.config.metadata:
            metadata = Metadata(tuple(head.message_id for head in heads))
        message = Message(row.group_id, self._timestamp(heads, row.group_id + body), body, metadata)
        while core.holds(mid := message_id(message)) or mid in core.ephemeral_seen:
            message = message._replace(timestamp=message.timestamp + 1)
        if ephemeral:
            core.remember_ephemeral(mid)
        return message

    def _timestamp(self, heads: Iterable[Head], text: bytes) -> int:
        """Return the timestamp for a message: now, in `mvds.timestamp_unit`, and later than its parents.

        Later than parents because records are sent in the order of timestamps, and a child that arrives first has to
        wait. Parents dated too far ahead do not count, nor any in unit "s", which would soon be seconds ahead. The part
        below a millisecond is drawn: two nodes may send "ok" in the same one.
        """
        core, unit = self._core, self._core.config.timestamp_unit
        if unit == "s":
            return core.wall // 1000
        latest = (core.wall + limits.MAX_AHEAD_MS) * _PER_MS[unit]
        stamp = core.wall * _PER_MS[unit] + core.backoff.draw(text) % _PER_MS[unit]
        return max(stamp, *(head.timestamp + 1 for head in heads if head.timestamp < latest), 0)
