"""A few engines with a network between them, for tests that look at one behaviour each."""

from __future__ import annotations

from typing import Any

from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import Report
from sdschat.timber.memory import MemoryStore
from sdschat.timber.values import Message, Now, Packet, member_id
from sdschat.transport.mqtt_options import MqttOptions
from tests.timber.world import CODEC, key_of, sign_with, verify

SETTINGS: dict[str, Any] = {
    "rounds": 2,
    "heartbeat": 1000,
    "retry": 2000,
    "stagger": 300,
    "sync_interval": 2000,
}
LARGEST = MqttOptions().max_payload


class Node:
    def __init__(self, name: str, number: int, **settings: Any) -> None:
        self.name, self.key = name, key_of(number)
        self.id = member_id(self.key)
        self.config = Config(**{**SETTINGS, **settings})
        self.store = MemoryStore()
        self.reports: list[Report] = []
        self.sent: list[Packet] = []
        self.up = True
        self.engine = self.boot(Now(0, 0))

    def boot(self, now: Now) -> TimberEngine:
        identity = Signer(self.key, sign_with(self.key))
        snapshot = self.store.snapshot(late=True) if self.store.rows else None
        self.engine = TimberEngine(self.config, identity, CODEC, verify, now, snapshot)
        return self.engine

    def heard(self, kind: type[Any]) -> list[Any]:
        return [report for report in self.reports if isinstance(report, kind)]

    def texts(self) -> list[str]:
        return [view.post.text for view in self.engine.posts()]


class Group:
    """Nodes by name. `settle` lets time pass."""

    def __init__(self, *names: str, members: bool = True, **settings: Any) -> None:
        self.nodes = {name: Node(name, number, **settings) for number, name in enumerate(names)}
        self.by_id = {node.id: node for node in self.nodes.values()}
        self.time = 0
        self.packets = 0
        self.bytes = 0
        self.wire: list[tuple[Node, Packet]] = []
        self.sides: dict[str, int] = {}  # nodes on different sides of a cut do not reach each other
        first, *others = self.nodes.values()
        self.data_set = first.engine.found(b"a group", self.now)
        self.carry(first)
        for node in others:
            node.engine.join(self.data_set, [first.id], self.now)
            self.carry(node)
            if members:
                first.engine.invite(node.key, self.now)
                self.carry(first)
        if members:
            self.settle(30_000)

    @property
    def now(self) -> Now:
        return Now(1_700_000_000_000 + self.time, self.time)

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def carry(self, node: Node) -> None:
        ready = node.engine.take()
        node.store.apply(ready.writes)
        node.reports += ready.events
        node.sent += ready.packets
        self.wire += [(node, packet) for packet in ready.packets]

    def deliver(self, to: str, message: Message, sender: str) -> None:
        self[to].engine.receive(self[sender].id, message, self.now)
        self.carry(self[to])

    def settle(self, duration: int = 20_000) -> None:
        end = self.time + duration
        while self.time < end:
            self.time += 100
            for node in self.nodes.values():
                wake = node.engine.next_wake()
                if node.up and wake is not None and wake <= self.time:
                    node.engine.advance(self.now)
                    self.carry(node)
            while self.wire:
                wire, self.wire = self.wire, []
                for sender, packet in wire:
                    node = self.by_id[packet.peer]
                    raw = CODEC.encode(packet.message)
                    assert len(raw) <= LARGEST, "no transport of ours takes it"
                    self.packets += 1
                    self.bytes += len(raw)
                    cut = self.sides.get(sender.name) != self.sides.get(node.name)
                    if node.up and sender.up and not cut:
                        node.engine.receive(sender.id, CODEC.decode(raw), self.now)
                        self.carry(node)

    def say(self, name: str, *texts: str) -> None:
        for text in texts:
            self[name].engine.say(text, self.now)
            self.carry(self[name])
            self.settle(500)
