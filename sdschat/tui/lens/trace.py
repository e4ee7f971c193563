"""The recent events and packets of a channel, as far as the views need them. Every step is O(1), all memory bounded."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from typing import Final, NamedTuple

from sdschat.node import events
from sdschat.node.channel.proofs import is_signed
from sdschat.node.events import NodeEvent, ev
from sdschat.node.view.engine_snapshot import is_compact
from sdschat.node.view.packet_report import message_rules
from sdschat.node.view.values import Message, MessageKind, Refusal, Verdict

MESSAGES: Final = 512
STEPS: Final = 64
EVENTS: Final = 2000
PACKETS: Final = 200
PEERS: Final = 64
PROVEN: Final = 1024  # ids for each participant
RATE_SAMPLES: Final = 32
FOREIGN: Final = "@waku/sds, or like it"
UNKNOWN: Final = "unknown"  # program of a participant
UNPROVEN: Final = "unproven"  # evidence that nobody signed


class TimedEvent(NamedTuple):
    """An event with its time."""

    at: int
    body: events.EventBody


class PacketSeen(NamedTuple):
    """A packet that was received or sent."""

    number: int
    at: int
    why: str  # live, store, sync; or the reason to send it
    out: bool
    raw: bytes
    message: Message | Refusal | None


class LogLine(NamedTuple):
    """A message of the log, as it was delivered."""

    lamport: int
    message_id: str
    sender_id: str
    dependencies: tuple[str, ...]
    own: bool
    signed: bool = True


class PeerTrace:
    """Observations of one participant since the Lens was opened."""

    def __init__(self) -> None:
        self.packets: Counter[str] = Counter()  # by kind
        self.broken: Counter[tuple[str, str]] = Counter()  # rules of the spec
        self.refused: Counter[str] = Counter()
        self.offsets: deque[int] = deque(maxlen=RATE_SAMPLES)  # date of a fresh packet minus our time, in milliseconds
        self.sync_gaps: deque[int] = deque(maxlen=RATE_SAMPLES)
        self.synced_at = 0
        self.filter = b""
        self.filter_at = 0
        self.proven: OrderedDict[str, str] = OrderedDict()  # id: evidence that the participant has the message
        self.signed = False  # its content was signed, in the format of this program

    def prove(self, message_id: str, how: str) -> None:
        """Note evidence that the participant has a message: what it is, or `UNPROVEN` if it is not signed. The first
        one stands, but authorship replaces any other, and any other what is unproven."""
        if how == "author" or self.proven.get(message_id, UNPROVEN) == UNPROVEN:
            self.proven[message_id] = how
            if len(self.proven) > PROVEN:
                self.proven.popitem(last=False)

    @property
    def offset(self) -> int | None:
        """Return the lead of its clock over ours, in milliseconds: the largest seen, as delay only makes it smaller."""
        return max(self.offsets) if self.offsets else None

    @property
    def make(self) -> str:
        """Return the program that this participant seems to run."""
        if is_compact(self.filter) or self.signed:
            return "sdschat"
        if len(self.filter) > 10_000:
            return FOREIGN
        return UNKNOWN


class LensTrace:
    """The record of one channel. `hear` takes its events, `see` its packets."""

    def __init__(self, me: str) -> None:
        self.me = me
        self.events: deque[TimedEvent] = deque(maxlen=EVENTS)
        self.steps: OrderedDict[str, deque[TimedEvent]] = OrderedDict()
        self.log: OrderedDict[str, LogLine] = OrderedDict()
        self.packets: deque[PacketSeen] = deque(maxlen=PACKETS)
        self.peers: OrderedDict[str, PeerTrace] = OrderedDict()
        self.began = 0
        self._count = 0

    def hear(self, event: NodeEvent) -> None:
        timed = TimedEvent(event.time, event.body)
        self.began = self.began or event.time
        self.events.append(timed)
        for message_id in concerned(event.body):
            self._note(message_id, timed)
        if isinstance(event.body, events.MessageDelivered):
            self._delivered(event.body)
        elif isinstance(event.body, ev.StateChanged) and event.body.evidence is not None:
            found = event.body.evidence
            if found.certain:
                self.peer(found.sender_id).prove(event.body.message_id, found.how if found.signed else UNPROVEN)

    def _note(self, message_id: str, timed: TimedEvent) -> None:
        steps = self.steps.get(message_id)
        if steps is None:
            steps = self.steps[message_id] = deque(maxlen=STEPS)
            if len(self.steps) > MESSAGES:
                self.steps.popitem(last=False)
        steps.append(timed)

    def _delivered(self, body: events.MessageDelivered) -> None:
        message = body.said.message
        self.add(
            LogLine(
                message.lamport_timestamp or 0,
                message.message_id,
                message.sender_id,
                tuple(entry.message_id for entry in message.causal_history),
                body.said.own,
                body.said.opened.verdict.signed,
            )
        )
        if not body.said.own and body.said.opened.verdict in (Verdict.KNOWN, Verdict.NEW):
            self.peer(message.sender_id).signed = True

    def add(self, entry: LogLine) -> None:
        self.log[entry.message_id] = entry
        if len(self.log) > MESSAGES:
            self.log.popitem(last=False)
        if not entry.own:
            peer = self.peer(entry.sender_id)
            peer.prove(entry.message_id, "author" if entry.signed else UNPROVEN)
            for dependency in entry.dependencies:
                peer.prove(dependency, "mention" if entry.signed else UNPROVEN)

    def see(self, at: int, why: str, raw: bytes, message: Message | Refusal | None) -> None:
        """Take a packet. `message` is None for a packet that this node sends."""
        self._count += 1
        self.packets.append(PacketSeen(self._count, at, why, message is None, raw, message))
        if isinstance(message, Message) and message.sender_id != self.me:
            self._heard(at, message, is_signed(message, raw))
        elif isinstance(message, Refusal) and message.sender_id:
            self.peer(message.sender_id).refused[str(message.reason)] += 1

    def _heard(self, at: int, message: Message, signed: bool) -> None:
        peer = self.peer(message.sender_id)
        kind = message.kind
        peer.packets[str(kind)] += 1
        for rule in message_rules(message):
            peer.broken[rule] += 1
        again = kind is MessageKind.CONTENT and message.message_id in self.log
        if message.lamport_timestamp is not None and not again:
            peer.offsets.append(message.lamport_timestamp - at)
        if kind is MessageKind.SYNC:
            if peer.synced_at:
                peer.sync_gaps.append(at - peer.synced_at)
            peer.synced_at = at
        if not again:  # in a rebroadcast, history and filter are old
            for entry in message.causal_history:
                peer.prove(entry.message_id, "mention" if signed else UNPROVEN)
            if message.bloom_filter is not None:
                peer.filter, peer.filter_at = message.bloom_filter, at

    def peer(self, sender_id: str) -> PeerTrace:
        found = self.peers.get(sender_id)
        if found is None:
            found = self.peers[sender_id] = PeerTrace()
            if len(self.peers) > PEERS:
                self.peers.popitem(last=False)
        else:
            self.peers.move_to_end(sender_id)
        return found


def concerned(body: events.EventBody) -> tuple[str, ...]:
    """Return the ids of the messages that an event is about."""
    match body:
        case events.MessageDelivered() | events.EphemeralSaid():
            return (body.said.message.message_id,)
        case ev.DependenciesMissing():
            return (body.message_id, *body.dependencies)
        case ev.DependenciesLost():
            return body.dependencies
        case ev.RepairRequested():
            return body.message_ids
    message_id = getattr(body, "message_id", "")
    return (message_id,) if message_id else ()
