"""A group of production engines, packet by packet, without invariants. One core steps all participants.

As in `sdschat.sim`, the loss of a packet follows from the seed, the packet and its receiver.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from heapq import heappop, heappush
from random import Random

import numpy as np

from sdschat.experiment.figures import Record
from sdschat.experiment.setting import GroupSetting
from sdschat.sds.events import Delivered, DependenciesMissing, Event, RepairRequested, StateChanged
from sdschat.sds.state import Packet, Ready
from sdschat.sds.values import AckState, Message, Refusal
from sdschat.sim.node import CHANNEL, SharedCodec, SimNetwork, SimNode
from sdschat.sim.scenario import Plan, Rates, Violation
from sdschat.store.journal import JournalRow, journal_of


def _name(seed: int, at: int) -> str:
    """Return a name as long and as random as a participant's id, because timers are derived from it."""
    return sha256(b"%d %d" % (seed, at)).hexdigest()[:32]


class EngineGroup:
    def __init__(self, setting: GroupSetting, seed: int) -> None:
        self.setting = setting
        self.record = Record(setting, seed)
        config = setting.config()
        self.codec = SharedCodec(config.max_message_bytes)
        self.network = SimNetwork(seed, Rates(loss=setting.loss, latency=setting.latency - 1, jitter=0))
        self.nodes = [SimNode(at, Plan(_name(seed, at)), config) for at in range(setting.participants)]
        self.time = 0
        self.numbers: dict[str, int] = {}
        self.lamports: dict[str, int] = {}
        self.journal: list[JournalRow] = []
        self._seqs = [0] * setting.participants
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._counts: dict[str, int] = {}
        draw = Random(f"boots and senders {seed}")
        for node in self.nodes:
            self._schedule(draw.randrange(setting.warm_up + 1) if setting.warm_up else 0, partial(self._boot, node))
        self.authors = [draw.randrange(setting.participants) for _ in range(setting.messages)]
        for message, author in enumerate(self.authors):
            self._schedule(setting.sent_at(message), partial(self._send, self.nodes[author]))

    def _schedule(self, at: int, act: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._heap, (at, self._order, act))

    def run(self) -> Record:
        while self._heap and self._heap[0][0] <= self.setting.until:
            self.time, _, act = heappop(self._heap)
            act()
        return self.record

    def _boot(self, node: SimNode) -> None:
        node.gone = False
        node.boot(self.time, self.codec)
        self._settle(node)

    def _send(self, node: SimNode) -> None:
        channel = node.channel
        assert channel is not None
        number = len(self.numbers)
        text = b"%d/%d " % (self.record.seed, number)
        content = text + b"." * max(0, self.setting.content_bytes - len(text))
        message = channel.send(node.now(self.time), content)
        self.numbers[message.message_id] = number
        self.lamports[message.message_id] = message.lamport_timestamp or 0
        self.record.held[number, node.index] = 0
        self._settle(node)

    def _wake(self, node: SimNode) -> None:
        channel = node.channel
        if channel is None or node.wake_at != self.time:
            return
        node.wake_at = None
        due = channel.next_wake()
        if due is not None and due - node.mono_base <= self.time:
            channel.advance(node.now(self.time))
        self._settle(node)

    def _settle(self, node: SimNode) -> None:
        """Do the follow-up of every call: record its events, send its packets, and schedule the next wake-up."""
        channel = node.channel
        assert channel is not None
        state = channel.state
        if state.packets or (state.events and self.setting.journal):
            ready = channel.take()
            node.store.apply(ready.writes)
            if self.setting.journal:
                self._keep(node, ready)
            self._note(node.index, ready.events)
            for packet in ready.packets:
                self._publish(node.index, packet)
        elif state.events:
            self._note(node.index, state.events)
            state.events = []
        due = channel.next_wake()
        if due is not None:
            at = max(due - node.mono_base, self.time)
            if node.wake_at is None or at < node.wake_at:
                node.wake_at = at
                self._schedule(at, partial(self._wake, node))

    def _keep(self, node: SimNode, ready: Ready) -> None:
        for row in journal_of(CHANNEL, ready, node.now(self.time)):
            self._seqs[node.index] += 1
            self.journal.append(row._replace(node=node.plan.name, boot="1", seq=self._seqs[node.index]))

    def check_logs(self) -> None:
        """Check that each log holds exactly the shown messages, and equal sets in equal order. Raises Violation."""
        order = sorted(self.numbers, key=lambda key: (self.lamports[key], key))
        for node in self.nodes:
            channel = node.channel
            assert channel is not None
            node.store.apply(channel.take().writes)
            kept = [entry.message_id for entry in node.store.history.newest(len(order) + 1)]
            shown = np.isfinite(self.record.shown[:, node.index])
            due = [key for key in order if shown[self.numbers[key]]]
            for log, where in ((kept, "kept"), ([entry.message_id for entry in channel.state.window.order], "shown")):
                if log != due:
                    what = "another order" if sorted(log) == sorted(due) else "other messages"
                    raise Violation("I2", f"the log of {node.plan.name}, as {where}, has {what}")

    def _publish(self, sender: int, packet: Packet) -> None:
        message = self.codec.decode(packet.raw)
        assert not isinstance(message, Refusal)
        what = packet.message_id if packet.kind != "sync" else f"sync {sender}"
        count = self._counts.get(what, 0)
        self._counts[what] = count + 1
        fate = self.network.packet(sender, what, count)
        number = self.numbers.get(message.message_id, -1) if message.content else -1
        if self.time >= self.setting.warm_up:
            self.record.sent(packet.kind, len(packet.raw))
            if packet.kind in self.record.copies:
                self.record.copies[packet.kind][number] += 1
        arrive = partial(self._arrive, fate, sender, packet.raw, message, number, packet.kind)
        self._schedule(self.time + self.setting.latency, arrive)

    def _arrive(self, fate: int, sender: int, raw: bytes, message: Message, number: int, why: str) -> None:
        record, fates = self.record, self.network.fates
        for node in self.nodes:
            channel = node.channel
            if channel is None or node.index == sender:
                continue
            if not fates(fate, sender, node.index):
                if why == "message":
                    record.missed[number, node.index] = True
                continue
            if number >= 0:
                self._heard(number, node.index)
            channel.receive_message(node.now(self.time), message, raw)
            self._settle(node)

    def _heard(self, number: int, node: int) -> None:
        record = self.record
        since = self.time - self.setting.sent_at(number)
        if np.isfinite(record.held[number, node]):
            record.duplicates[number] += 1
            return
        record.held[number, node] = since
        if record.noticed[number, node] > since:
            record.noticed[number, node] = since

    def _note(self, node: int, events: list[Event]) -> None:
        record, numbers = self.record, self.numbers
        for event in events:
            if isinstance(event, Delivered):
                number = numbers.get(event.message.message_id, len(numbers))
                record.shown[number, node] = self.time - self.setting.sent_at(number)
            elif isinstance(event, DependenciesMissing):
                for message_id in event.dependencies:
                    number = numbers[message_id]
                    since = self.time - self.setting.sent_at(number)
                    record.noticed[number, node] = min(record.noticed[number, node], since)
            elif isinstance(event, RepairRequested):
                for message_id in event.message_ids:
                    record.requests[numbers[message_id]] += 1
            elif isinstance(event, StateChanged) and event.state is not AckState.UNACKED:
                self._acknowledged(numbers[event.message_id], event.state)

    def _acknowledged(self, number: int, state: AckState) -> None:
        record = self.record
        since = self.time - self.setting.sent_at(number)
        record.possibly_acked[number] = min(record.possibly_acked[number], since)
        if state is AckState.ACKED:
            record.acked[number] = min(record.acked[number], since)
