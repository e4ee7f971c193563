"""A Hypothesis state machine over a group of engines: anything may happen to any packet and any node."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sdschat.sds.config import DEMO
from sdschat.sds.events import Delivered, Event
from sdschat.sds.values import AckState, Now
from tests.sds.group import Flight, Group, Node

LIVELY = replace(DEMO, id_rule="text", bloom_capacity=8, causal_history=1)
places = st.integers(0, 200)
names = st.integers(0, 2)
spans = st.integers(0, 8000)


class GroupMachine(RuleBasedStateMachine):
    """Subclasses say how many nodes there are."""

    size = 2

    @initialize()
    def start(self) -> None:
        self.group = Group(*"abc"[: self.size], config=LIVELY)
        self.seen: dict[tuple[str, str], AckState] = {}
        self.clocks: dict[str, int] = {}
        self.texts = 0

    def node(self, place: int) -> Node:
        return self.group["abc"[place % self.size]]

    def picked(self, place: int) -> Flight:
        return self.group.flying[place % len(self.group.flying)]

    @rule(name=names)
    def send(self, name: int) -> None:
        self.texts += 1
        self.group.send(self.node(name).name, f"text {self.texts}")

    @precondition(lambda self: self.group.flying)
    @rule(place=places, again=st.booleans())
    def deliver(self, place: int, again: bool) -> None:
        flight = self.picked(place)
        if not again:
            self.group.flying.remove(flight)
        if self.group[flight.receiver].online:
            self.group.give(flight.receiver, flight.packet.raw)

    @precondition(lambda self: self.group.flying)
    @rule(place=places)
    def lose(self, place: int) -> None:
        self.group.flying.remove(self.picked(place))

    @rule(span=spans)
    def tick(self, span: int) -> None:
        self.group.tick(span, delivering=False)

    @rule(name=names)
    def crash(self, name: int) -> None:
        self.group.crash(self.node(name).name)

    @rule(name=names)
    def crash_before_saving(self, name: int) -> None:
        """Crash before saving: a message said but not saved is gone, and nobody has heard of it."""
        node = self.node(name)
        node.channel.send(node.shifted(self.group.now), b"never saved")
        self.group.crash(node.name)

    @rule(name=names)
    def offline(self, name: int) -> None:
        self.group.offline(self.node(name).name)

    @rule(name=names)
    def online(self, name: int) -> None:
        self.group.online(self.node(name).name)

    @rule(name=names, spans=st.lists(spans, min_size=1, max_size=4))
    def restored_copy_does_the_same(self, name: int, spans: list[int]) -> None:
        going = copy.deepcopy(self.node(name))
        restored = copy.deepcopy(self.node(name))
        restored.open(self.group.now)
        waiting = [flight.packet.raw for flight in self.group.flying if flight.receiver == going.name]
        for place, span in enumerate(spans):
            raw = waiting[place] if place < len(waiting) else None
            there = [done(node, self.group.now, span, place, raw) for node in (going, restored)]
            assert there[0] == there[1]

    @invariant()
    def logs_are_sorted_and_equal_sets_are_equal_logs(self) -> None:
        logs = [node.store.history.newest(10_000) for node in self.group.nodes.values()]
        for log in logs:
            assert log == sorted(log)
            assert len({entry.message_id for entry in log}) == len(log)
        ids = [[entry.message_id for entry in log] for log in logs]
        assert all(one == other for one in ids for other in ids if set(one) == set(other))

    @invariant()
    def the_window_is_the_end_of_the_log(self) -> None:
        for node in self.group.nodes.values():
            order = node.channel.state.window.order
            assert order == node.store.history.newest(len(order))

    @invariant()
    def acknowledgements_and_clocks_never_go_back(self) -> None:
        for name, node in self.group.nodes.items():
            state = node.channel.state
            for message_id, known in (*state.outgoing.open.items(), *state.outgoing.settled.items()):
                assert known.state >= self.seen.get((name, message_id), AckState.UNACKED)
                self.seen[(name, message_id)] = known.state
            assert state.clock.value >= self.clocks.get(name, 0)
            self.clocks[name] = state.clock.value

    @invariant()
    def parents_are_delivered_first_or_named_as_a_gap(self) -> None:
        for node in self.group.nodes.values():
            delivered: set[str] = set()
            for event in node.of(Delivered):
                parents = {entry.message_id for entry in event.message.causal_history}
                assert parents <= delivered | set(event.gap)
                delivered.add(event.message.message_id)

    @invariant()
    def nothing_is_ever_refused(self) -> None:
        for node in self.group.nodes.values():
            assert node.refused() == []

    def teardown(self) -> None:
        """With everybody back and nothing lost any more, all have the same."""
        if not hasattr(self, "group"):
            return
        for name in self.group.nodes:
            self.group.online(name)
        self.group.tick(180_000)
        logs = [node.log for node in self.group.nodes.values()]
        assert all(log == logs[0] for log in logs)
        packets = [packet for node in self.group.nodes.values() for packet in node.sent]
        assert {packet.message_id for packet in packets if packet.kind == "message"} <= set(logs[0])


def done(node: Node, now: Now, span: int, place: int, raw: bytes | None) -> list[Any]:
    """Return the outcomes of some time, a packet and a message of our own."""
    then = Now(now.wall + span, now.mono + span)
    seen: list[Any] = []
    while (wake := node.channel.next_wake()) is not None and wake <= then.mono and len(seen) < 50:
        moment = max(wake, now.mono)
        node.channel.advance(node.shifted(Now(now.wall + moment - now.mono, moment)))
        seen.append(outcome(node))
    if raw is not None:
        node.channel.receive(node.shifted(then), raw)
        seen.append(outcome(node))
    node.channel.send(node.shifted(then), b"the same %d" % place)
    seen.append(outcome(node))
    return [*seen, node.channel.next_wake()]


def outcome(node: Node) -> tuple[list[bytes], list[Event]]:
    ready = node.take()
    return [packet.raw for packet in ready.packets], ready.events
