"""A group of real engines on a simulated clock: real codec, a disk in memory, a network that the test holds in hand.

Nothing moves unless a test says so: `Group.deliver` hands over what is in flight, `Group.tick` lets time pass and
wakes every engine exactly when it asked to be woken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from sdschat.sds.channel import Channel
from sdschat.sds.config import Config
from sdschat.sds.events import Delivered, Event, Rejected
from sdschat.sds.memory import MemoryStore
from sdschat.sds.state import Packet, Ready
from sdschat.sds.values import HistoryEntry, Message, Now, Reason, Write
from sdschat.wire.sds_codec import SdsCodec

START = 1_700_000_000_000
CODEC = SdsCodec()
FAR = 24 * 3_600_000
QUIET = Config(sync_interval=FAR, push_enabled=False, push_delay_max=1000, id_rule="text")
"""No chatter: one sync message each within the first second, then only what the test causes. Equal texts get ids of
their own."""

EventType = TypeVar("EventType")


class Flight(NamedTuple):
    """A packet on its way."""

    sender: str
    receiver: str
    packet: Packet


@dataclass
class Node:
    """One participant, with its disk, and all that ever came out of its engine."""

    name: str
    config: Config
    now: Now
    online: bool = True
    store: MemoryStore = field(default_factory=MemoryStore)
    events: list[Event] = field(default_factory=list)
    sent: list[Packet] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    skew: int = 0

    def __post_init__(self) -> None:
        self.open(self.now)

    def open(self, now: Now) -> None:
        """Start from whatever the disk has."""
        self.channel = Channel(
            "lobby",
            self.name,
            codec=CODEC,
            history=self.store.history,
            secret=self.name.encode(),
            now=self.shifted(now),
            config=self.config,
            snapshot=self.store.snapshot(),
            online=self.online,
        )

    def shifted(self, now: Now) -> Now:
        return Now(now.wall + self.skew, now.mono)

    def take(self) -> Ready:
        """Make the writes true, as a driver does, and keep a record."""
        ready = self.channel.take()
        self.store.apply(ready.writes)
        self.writes += ready.writes
        self.events += ready.events
        self.sent += ready.packets
        return ready

    @property
    def log(self) -> list[str]:
        return [entry.message_id for entry in self.store.history.newest(1_000_000)]

    def of(self, kind: type[EventType]) -> list[EventType]:
        return [event for event in self.events if isinstance(event, kind)]

    def delivered(self) -> list[str]:
        """Ids of others' messages in the order of delivery."""
        return [event.message.message_id for event in self.of(Delivered) if not event.own]

    def refused(self) -> list[Reason]:
        return [event.reason for event in self.of(Rejected)]

    def messages(self, why: str = "") -> list[Message]:
        """Return the messages that this node sent, decoded."""
        decoded = [CODEC.decode(packet.raw) for packet in self.sent if why in ("", packet.kind)]
        return [message for message in decoded if isinstance(message, Message)]


class Group:
    """Nodes that all hear each other, as far as `passes` lets them."""

    def __init__(self, *names: str, config: Config = QUIET, settle: int = 0) -> None:
        self.config = config
        self.now = Now(START, 1_000_000)
        self.nodes: dict[str, Node] = {}
        self.flying: list[Flight] = []
        self.passes: Callable[[Flight], bool] = lambda flight: True
        for name in names:
            self.add(name)
        if settle:
            self.tick(settle)

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def add(self, name: str, config: Config | None = None, skew: int = 0) -> Node:
        node = self.nodes[name] = Node(name, config or self.config, self.now, skew=skew)
        self.collect(name)
        return node

    def collect(self, name: str) -> Ready:
        """Take what a node has ready and put its packets in flight to everyone else."""
        ready = self.nodes[name].take()
        for packet in ready.packets:
            for other in self.nodes:
                if other != name and self.passes(flight := Flight(name, other, packet)):
                    self.flying.append(flight)
        return ready

    def send(self, name: str, text: str) -> Message:
        node = self.nodes[name]
        message = node.channel.send(node.shifted(self.now), text.encode())
        self.collect(name)
        return message

    def give(self, name: str, packet: Message | bytes) -> Ready:
        """Hand a packet to a node, as from nowhere."""
        raw = CODEC.encode(packet) if isinstance(packet, Message) else packet
        node = self.nodes[name]
        node.channel.receive(node.shifted(self.now), raw)
        return self.collect(name)

    def deliver(self) -> None:
        """Hand over everything in flight, and what comes of that."""
        while self.flying:
            flight = self.flying.pop(0)
            if flight.receiver in self.nodes and self.nodes[flight.receiver].online:
                self.give(flight.receiver, flight.packet.raw)

    def lose(self) -> None:
        """Everything in flight is lost."""
        self.flying.clear()

    def say(self, name: str, text: str) -> Message:
        """Send and deliver to everyone."""
        message = self.send(name, text)
        self.deliver()
        return message

    def tick(self, millis: int, delivering: bool = True) -> None:
        """Let time pass, waking everyone when they asked for it; packets take no time, or stay in flight."""
        end = self.now.mono + millis
        if delivering:
            self.deliver()
        while (due := self.next_wake()) is not None and due[0] <= end:
            moment, name = due
            moment = max(moment, self.now.mono)
            self.now = Now(self.now.wall + moment - self.now.mono, moment)
            self.wake(name)
            if delivering:
                self.deliver()
        self.now = Now(self.now.wall + end - self.now.mono, end)

    def next_wake(self) -> tuple[int, str] | None:
        wakes = [(wake, name) for name, node in self.nodes.items() if (wake := node.channel.next_wake()) is not None]
        return min(wakes, default=None)

    def wake(self, name: str) -> None:
        node = self.nodes[name]
        before = node.channel.next_wake()
        node.channel.advance(node.shifted(self.now))
        ready = self.collect(name)
        stuck = node.channel.next_wake() == before and not (ready.packets or ready.events or ready.writes)
        assert not stuck, f"{name} asks to be woken at {before} for nothing"

    def crash(self, name: str) -> None:
        """Whatever was not taken is gone."""
        self.nodes[name].open(self.now)

    def offline(self, name: str) -> None:
        node = self.nodes[name]
        node.online = False
        node.channel.disconnected(node.shifted(self.now))
        self.collect(name)

    def online(self, name: str) -> None:
        node = self.nodes[name]
        node.online = True
        node.channel.connected(node.shifted(self.now))
        self.collect(name)


def forge(
    sender: str,
    message_id: str,
    lamport: int | None = START,
    *parents: str,
    content: bytes | None = b"forged",
    requests: tuple[str, ...] = (),
    bloom_filter: bytes | None = None,
    channel: str = "lobby",
) -> Message:
    """A packet's fields as some peer may have written them. Parents are said to be of the same sender."""
    return Message(
        sender,
        message_id,
        channel,
        lamport,
        tuple(HistoryEntry(parent, None, sender) for parent in parents),
        bloom_filter,
        tuple(HistoryEntry(request, None, sender) for request in requests),
        content,
    )
