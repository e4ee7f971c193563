"""Nodes with the real engine, a store in memory and a network that loses, doubles and delays, on one clock."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple, TypeVar

from sdschat.mvds import Config, Engine, Message, Metadata, Now, Packet, Payload, Ready, Refusal
from sdschat.mvds.events import Delivered, Event
from sdschat.mvds.memory import MemoryStore
from sdschat.mvds.packing import ID_COST, message_cost
from sdschat.mvds.values import RecordRow, RecordType, message_id

GROUP = bytes(range(32))
OTHER_GROUP = bytes(range(32, 64))
E = TypeVar("E")
START = Now(wall=1_700_000_000_000, mono=5_000)


def at(milliseconds: int) -> Now:
    return Now(START.wall + milliseconds, START.mono + milliseconds)


def message(body: bytes, *parents: bytes, stamp: int = 1, ephemeral: bool = False, group: bytes = GROUP) -> Message:
    return Message(group, stamp, body, Metadata(parents, ephemeral))


def id_of(*messages: Message) -> tuple[bytes, ...]:
    return tuple(message_id(one) for one in messages)


class Node:
    """An engine with its store, driven as by a real node. `ms` is the time since the start."""

    def __init__(self, name: str, others: Iterable[str], config: Config | None = None) -> None:
        self.name = name
        self.config = config or Config()
        self.store = MemoryStore()
        self.engine = Engine(self.config, name.encode(), self.store, at(0))
        self.events: list[Event] = []
        self.sent: list[Packet] = []
        self.engine.join(GROUP, others)
        self.take()

    def take(self) -> Ready:
        ready = self.engine.take()
        self.store.apply(ready.writes)
        self.events += ready.events
        self.sent += ready.packets
        assert self.store.snapshot() == self.engine.snapshot()
        return ready

    def step(self, ms: int) -> list[Packet]:
        """Advance to a time and return the packets sent."""
        self.engine.advance(at(ms))
        return list(self.take().packets)

    def receive(self, peer: str, payload: Payload | Refusal, ms: int) -> list[Packet]:
        self.engine.receive(peer, payload, at(ms))
        return self.step(ms)

    def restart(self, ms: int) -> None:
        """Stop without warning and start again from the rows on disk."""
        self.engine = Engine(self.config, self.name.encode(), self.store, at(ms), self.store.snapshot())

    def records(self, peer: str) -> dict[bytes, RecordRow]:
        return {row.message_id: row for row in self.engine.snapshot().records if row.peer == peer}

    def types(self, peer: str) -> list[RecordType]:
        return [row.type for row in self.records(peer).values()]

    def delivered(self) -> list[bytes]:
        return [event.message_id for event in self.events if isinstance(event, Delivered)]

    def reported(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


def alice(**settings: object) -> Node:
    return Node("alice", ["bob", "carol"], Config(**settings))  # type: ignore[arg-type]


def run(node: Node, start: int, end: int) -> None:
    for ms in range(start, end, 1000):
        node.step(ms)


def sent_to(node: Node, peer: str) -> list[Payload]:
    return [packet.payload for packet in node.sent if packet.peer == peer]


def times_sent(node: Node, peer: str, mid: bytes) -> int:
    lists = [(*one.offers, *one.requests, *id_of(*one.messages)) for one in sent_to(node, peer)]
    return sum(mid in ids for ids in lists)


class Faults(NamedTuple):
    """Faults of the network."""

    loss: float = 0.0
    duplicate: float = 0.0
    delay_min: int = 20
    delay_max: int = 60


class World:
    """Nodes that are all in one group. Time advances from one scheduled event to the next."""

    def __init__(self, names: Iterable[str], config: Config | None = None, seed: int = 0) -> None:
        self.names = tuple(names)
        self.nodes = {name: Node(name, [n for n in self.names if n != name], config) for name in self.names}
        self.random = Random(seed)
        self.faults = Faults()
        self.now = 0
        self.away: set[str] = set()
        self._serial = 0
        self._queue: list[tuple[int, int, str, str, Payload]] = []
        self.packets = 0
        self.bytes = 0
        self.latest: list[tuple[int, bytes]] = []  # (time, id) of each delivery of a peer's message

    def post(self, source: str, packets: Iterable[Packet]) -> None:
        """Put packets on the network. A packet for a node that is away on its arrival is lost."""
        for packet in packets:
            self.packets += 1
            self.bytes += len(packet.payload.acks + packet.payload.offers + packet.payload.requests) * ID_COST
            self.bytes += sum(message_cost(one) for one in packet.payload.messages)
            copies = 1 + (self.random.random() < self.faults.duplicate)
            for _ in range(copies):
                if self.random.random() >= self.faults.loss:
                    self._serial += 1
                    due = self.now + self.random.randint(self.faults.delay_min, self.faults.delay_max)
                    heappush(self._queue, (due, self._serial, packet.peer, source, packet.payload))

    def send(self, name: str, body: bytes, **how: object) -> bytes:
        node = self.nodes[name]
        mid = node.engine.send(GROUP, body, at(self.now), **how)  # type: ignore[arg-type]
        self._step(name)
        return mid

    def _step(self, name: str) -> None:
        """Let a node do the work that is due. A node that is away knows it and waits: its work stays due."""
        node = self.nodes[name]
        if name in self.away:
            node.take()
            return
        before = len(node.events)
        self.post(name, node.step(self.now))
        new = node.events[before:]
        self.latest += [(self.now, one.message_id) for one in new if isinstance(one, Delivered) and one.peer]

    def run(self, until: int) -> None:
        """Let time pass."""
        while (upcoming := self._next()) <= until:
            self.now = max(self.now, upcoming)
            heard = set()
            while self._queue and self._queue[0][0] <= self.now:
                _, _, target, source, payload = heappop(self._queue)
                if target not in self.away:
                    self.nodes[target].engine.receive(source, payload, at(self.now))
                    heard.add(target)
            for name in self.names:
                if name in heard or self._wake(self.nodes[name]) <= self.now:
                    self._step(name)
        self.now = max(self.now, until)

    def _wake(self, node: Node) -> int:
        wake = None if node.name in self.away else node.engine.next_wake()
        return 2**62 if wake is None else wake - START.mono

    def _next(self) -> int:
        """Time of the next event; never in the past."""
        wakes = [self._wake(node) for node in self.nodes.values()]
        arrivals = [self._queue[0][0]] if self._queue else []
        return max(self.now, min(*wakes, *arrivals, 2**62))

    def settled(self) -> bool:
        """True if all nodes hold all messages and have no records left."""
        held = [set(node.store.messages) for node in self.nodes.values()]
        quiet = not any(node.engine.snapshot().records for node in self.nodes.values())
        return quiet and all(one == held[0] for one in held)
