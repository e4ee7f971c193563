"""The world: nodes, a network and a disk each, driven through time by a queue of events.

The trace of a run is a number: two runs of one seed must give the same one, in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from heapq import heappop, heappush
from typing import Any
from zlib import crc32

from sdschat.sds.channel import Channel
from sdschat.sds.state import Packet, Ready
from sdschat.sds.values import Append, Message, Refusal
from sdschat.sim.check_events import check_events, check_packet, check_refused, check_room
from sdschat.sim.check_state import check_answering, check_restored, check_sizes, check_waiting, check_writes
from sdschat.sim.node import Arrival, SharedCodec, SimNetwork, SimNode
from sdschat.sim.oracle import NodeRecord, Oracle, Origin
from sdschat.sim.scenario import Scenario, Violation, config_for


class Trace:
    """A running sum over everything published, and on demand over everything written and told, step by step."""

    __slots__ = ("_full", "steps", "sum")

    def __init__(self, full: bool = False) -> None:
        self._full = full
        self.sum = 0
        self.steps: list[tuple[int, int, str]] = []

    def sent(self, time: int, node: int, raw: bytes) -> None:
        self.sum = crc32(raw, self.sum ^ time ^ (node << 24))

    def step(self, time: int, node: int, ready: Ready) -> None:
        if self._full and (ready.writes or ready.packets or ready.events):
            # Rows of one transaction have keys of their own, so their order means nothing; that of the log does.
            log = [write for write in ready.writes if isinstance(write, Append)]
            rows = sorted(repr(write) for write in ready.writes if not isinstance(write, Append))
            what = repr((log, rows, ready.packets, ready.events))
            self.steps.append((time, node, sha256(what.encode("utf-8", "surrogatepass")).hexdigest()))

    def digest(self) -> str:
        return sha256(repr((self.sum, self.steps)).encode()).hexdigest()


ACTION, ARRIVAL, WAKE, DRAIN = range(4)
_STUCK = 64  # wakes of one node at one time


_DEATHS = {
    "before-writes": "before the writes",
    "before-packets": "before the packets",
    "between-packets": "between the packets",
}


def _node(scenario: Scenario, at: int, config: Any) -> SimNode:
    plan = scenario.plans[at]
    later = None if plan.later is None else config_for(scenario.config, plan.layout, plan.later)
    return SimNode(at, plan, config, later)


class World:
    """`replace_every`: every so many steps, an engine is replaced by one restored from its disk, unnoticed."""

    def __init__(self, scenario: Scenario, configs: list[Any], trace: Trace, replace_every: int = 0) -> None:
        self.scenario = scenario
        self.trace = trace
        self.codec = SharedCodec(scenario.config.max_message_bytes)
        self.nodes = [_node(scenario, at, configs[at]) for at in range(len(scenario.plans))]
        self.network = SimNetwork(scenario.seed, scenario.rates)
        self.oracle = Oracle(scenario, self.nodes)
        self.time = 0
        self.sent: list[Arrival] = []
        self.frames = 0
        self.until_settled = False
        self.listener: Callable[[NodeRecord, Packet, Message], None] | None = None  # hears what the nodes send
        self._heap: list[tuple[int, int, int, int, Any]] = []
        self._order = 0
        self._counts: dict[str, int] = {}
        self._replace_every = replace_every
        self._steps = 0
        self._woken = (-1, -1, 0)

    # Time.

    def schedule(self, at: int, kind: int, node: int, what: Any) -> None:
        self._order += 1
        heappush(self._heap, (at, self._order, kind, node, what))

    def run(self, until: int, act: Any = None) -> None:
        """Let everything happen that is due by then."""
        heap = self._heap
        convergence = self.oracle.convergence
        while heap and heap[0][0] <= until:
            if self.until_settled and not convergence.outstanding:
                return
            self.time, _, kind, index, what = heappop(heap)
            self.oracle.time = self.time
            if kind == ARRIVAL:
                self._arrive(self.nodes[index], what)
            elif kind == WAKE:
                self._wake(self.nodes[index])
            elif kind == DRAIN:
                self._drain(self.nodes[index])
            else:
                act(self, what)
        self.time = self.oracle.time = until

    # A node's life.

    def boot(self, node: SimNode) -> None:
        if node.plan.literal:
            peer = node.boot_literal(self.time, self.codec)
            peer.log = self.oracle.records[node.index].log
            self.literal_did(node, [])
            return
        known = node.store.snapshot() is not None
        if known and node.boots and node.later is not None:
            self.oracle.rare.met["came back with other settings"] += 1
        channel = node.boot(self.time, self.codec)
        record = self.oracle.records[node.index]
        record.booted()
        if known:
            check_restored(record, channel)
        self.flush(node)

    def flush(self, node: SimNode) -> None:
        """Do what follows every verb: make the writes true, publish the packets, tell the events. Or die on the way."""
        channel = node.channel
        assert channel is not None
        ready = channel.take()
        if node.armed and self._dies(node, ready):
            return
        oracle = self.oracle
        record = oracle.records[node.index]
        if ready.writes:
            check_writes(oracle, record, ready.writes)
            node.store.apply(ready.writes)
        for packet in ready.packets:
            self._publish(node, packet)
        record.settle()
        if ready.events or record.put_off:
            check_events(oracle, record, ready.events)
        oracle.rare.step(node.index, channel.state, ready)
        self.trace.step(self.time, node.index, ready)
        self._steps += 1
        check_sizes(record)
        check_waiting(record)
        if self._replace_every and self._steps % self._replace_every == 0:
            channel = node.channel = node.open(self.time, self.codec)
        self._set_wake(node, channel)

    def _dies(self, node: SimNode, ready: Ready) -> bool:
        """True if the node dies at this step; if so, do first the part of the step that still happens."""
        armed = node.armed
        record = self.oracle.records[node.index]
        if node.armed == "before-writes":
            if not ready.writes:
                return False
        elif not ready.packets:
            return False
        else:
            check_writes(self.oracle, record, ready.writes)
            node.store.apply(ready.writes)
            if node.armed == "between-packets":
                for packet in ready.packets[: (len(ready.packets) + 1) // 2]:
                    self._publish(node, packet)
            record.settle()
        node.kill()
        self.oracle.rare.met[f"died {_DEATHS[armed]}"] += 1
        return True

    def literal_did(self, node: SimNode, packets: Iterable[bytes]) -> None:
        """Do what follows every verb of a peer that is the specification and no more: send its packets, and note what
        it shows."""
        peer, oracle = node.literal, self.oracle
        assert peer is not None
        before = len(oracle.records[node.index].shown)
        for raw in packets:
            message = self.codec.decode(raw)
            assert isinstance(message, Message)
            peer.asked += bool(message.repair_request)
            self.broadcast(node.index, message.message_id, (raw, message))
        for message_id, lamport in list(peer.log.items())[before:]:
            oracle.records[node.index].shown[message_id] = None
            oracle.convergence.appended(node.index, message_id, lamport)
        self._wake_at(node, peer.next_wake())

    def _set_wake(self, node: SimNode, channel: Channel) -> None:
        due = channel.next_wake()
        if due is not None:
            self._wake_at(node, due)

    def _wake_at(self, node: SimNode, due: int) -> None:
        at = max(due - node.mono_base, self.time)
        if node.wake_at is None or at < node.wake_at:
            node.wake_at = at
            self.schedule(at, WAKE, node.index, None)

    def _wake(self, node: SimNode) -> None:
        channel = node.channel
        if node.literal is not None and node.wake_at == self.time and not node.gone:
            node.wake_at = None
            self.literal_did(node, list(node.literal.advance(node.now(self.time))))
        if channel is None or node.wake_at != self.time:
            return
        node.wake_at = None
        due = channel.next_wake()
        if due is not None and due - node.mono_base <= self.time:
            time, index, count = self._woken
            count = count + 1 if (time, index) == (self.time, node.index) else 0
            self._woken = (self.time, node.index, count)
            if count > _STUCK:
                raise Violation("I14", f"{node.plan.name} is never done with what is due")
            channel.advance(node.now(self.time))
            self.flush(node)
        else:
            self._set_wake(node, channel)

    # Packets.

    def _publish(self, node: SimNode, packet: Packet) -> None:
        message = self.codec.decode(packet.raw)
        record = self.oracle.records[node.index]
        check_packet(self.oracle, record, packet, message)
        assert isinstance(message, Message)
        record.syncs += packet.kind == "sync"
        if self.listener is not None:
            self.listener(record, packet, message)
        what = packet.message_id if packet.kind != "sync" else f"sync {node.index}"
        self.broadcast(node.index, what, (packet.raw, message))

    def broadcast(self, sender: int, what: str, arrival: Arrival) -> None:
        self.frames += 1
        self.sent.append(arrival)
        self.trace.sent(self.time, sender, arrival[0])
        count = self._counts.get(what, 0)
        self._counts[what] = count + 1
        network = self.network
        packet = network.packet(sender, what, count)
        for receiver in range(len(self.nodes)):
            if receiver != sender and not self.nodes[receiver].gone:
                for delay in network.fates(packet, sender, receiver):
                    self.schedule(self.time + delay, ARRIVAL, receiver, arrival)

    def _arrive(self, node: SimNode, arrival: Arrival) -> None:
        channel = node.channel
        if node.literal is not None and not isinstance(arrival[1], Refusal):
            node.literal.receive(node.now(self.time), arrival[1], arrival[0])
            self.literal_did(node, [])
        if channel is None or not node.online:
            return
        if node.batch:
            if not node.inbox:
                self.schedule(self.time + node.batch, DRAIN, node.index, None)
            node.inbox.append(arrival)
            return
        self._receive(node, channel, arrival)
        self.flush(node)

    def _receive(self, node: SimNode, channel: Channel, arrival: Arrival) -> None:
        raw, message = arrival
        if isinstance(message, Refusal):
            now = node.now(self.time)
            check_refused(node.plan.name, channel.state, lambda: channel.receive(now, raw))
        else:
            record, before = self.oracle.records[node.index], len(channel.state.events)
            channel.receive_message(node.now(self.time), message, raw)
            check_room(record, message, len(raw), channel.state.events[before:])
            if message.repair_request and not message.content and self._answers(node, message):
                check_answering(record, message, self.oracle.origins)

    def _answers(self, node: SimNode, message: Message) -> bool:
        return node.config.repair_enabled and not self.scenario.crowded and message.sender_id != node.plan.participant

    def _drain(self, node: SimNode) -> None:
        """Let a slow consumer look into its inbox: everything in it is one step."""
        channel = node.channel
        inbox, node.inbox = node.inbox, []
        if channel is None or not inbox:
            return
        for arrival in inbox:
            self._receive(node, channel, arrival)
        self.flush(node)

    def made(self, node: SimNode, message: Message, raw: bytes) -> None:
        """Note a message with content that a node made: the world knows it before anybody else can."""
        self.oracle.origins[message.message_id] = Origin(node.index, message, raw)
