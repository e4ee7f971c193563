"""Planted defects in clocks, in what is saved and when, and in what comes from outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sdschat.sds import persist
from sdschat.sds.channel import Channel
from sdschat.sds.incoming import IncomingBuffer
from sdschat.sds.state import ChannelState, Ready
from sdschat.sds.steps import deliver, filters, future_dated, sync
from sdschat.sds.timers import LamportClock
from sdschat.sds.values import AckState, Message, Now, Refusal
from tests.sim.plant import defect, instead, method


@defect
def future_clocks_are_adopted() -> Iterator[None]:
    with instead(future_dated.defer, lambda s, message, raw, via, lamport: _take(s, message, raw, via)):
        yield


def _take(s: ChannelState, message: Message, raw: bytes, via: str) -> None:
    deliver.deliver_message(s, message, raw, via, (), s.filter.generation, s.now.wall)
    filters.include_received(s, message.message_id, message.lamport_timestamp or 0)


@defect
def deferred_messages_move_the_clock() -> Iterator[None]:
    old = future_dated.defer

    def defer(s: ChannelState, message: Message, raw: bytes, via: str, lamport: int) -> None:
        s.clock.observe(lamport)
        old(s, message, raw, via, lamport)

    with instead(old, defer):
        yield


@defect
def the_clock_counts_seconds() -> Iterator[None]:
    def tick(self: LamportClock, wall: int) -> int:
        self.value = max(wall // 1000, self.value + 1)
        return self.value

    def observe(self: LamportClock, lamport: int) -> None:
        self.value = max(lamport, self.value)

    with method(LamportClock, "tick", tick), method(LamportClock, "observe", observe):
        old = persist.open_new

        def open_fresh(s: ChannelState) -> None:
            old(s)
            s.clock.value = s.now.wall // 1000

        with instead(old, open_fresh):
            yield


@defect
def the_clock_is_not_saved() -> Iterator[None]:
    old = persist.restore

    def restore(s: ChannelState, snapshot: Any) -> None:
        old(s, snapshot)
        s.clock.value = s.now.wall

    with instead(old, restore):
        yield


@defect
def packets_go_out_before_the_writes() -> Iterator[None]:
    old = Channel.take
    kept: dict[int, list[Any]] = {}

    def take(self: Channel) -> Ready:
        ready = old(self)
        writes = kept.pop(id(self.state), []) + ready.writes
        if not ready.packets:
            return Ready(writes, ready.packets, ready.events)
        kept[id(self.state)] = writes
        return Ready([], ready.packets, [])

    with method(Channel, "take", take):
        yield


@defect
def the_join_horizon_is_lost_with_a_restart() -> Iterator[None]:
    old = persist.restore

    def restore(s: ChannelState, snapshot: Any) -> None:
        old(s, snapshot)
        s.horizon = max(0, s.now.wall - s.config.max_skew)

    with instead(old, restore):
        yield


@defect
def states_start_anew_with_a_restart() -> Iterator[None]:
    old = persist.restore

    def restore(s: ChannelState, snapshot: Any) -> None:
        old(s, snapshot)
        for known in s.outgoing.open.values():
            known.state = AckState.UNACKED

    with instead(old, restore):
        yield


@defect
def the_incoming_buffer_has_no_bounds() -> Iterator[None]:
    with method(IncomingBuffer, "to_give_up", lambda *_: []):
        yield


@defect
def one_newer_message_at_most_makes_room() -> Iterator[None]:
    old = IncomingBuffer.to_give_up

    def to_give_up(self: IncomingBuffer, message: Message, size: int) -> list[str] | None:
        victims = old(self, message, size)
        return None if victims is None or len(victims) > 1 else victims

    with method(IncomingBuffer, "to_give_up", to_give_up):
        yield


@defect
def malformed_packets_raise() -> Iterator[None]:
    def receive_bytes(self: Channel, now: Now, packet: bytes, via: str = "live") -> None:
        message: Any = self.state.codec.decode(packet)
        self.receive_message(now, message, packet, via)

    with method(Channel, "receive", receive_bytes):
        yield


@defect
def refused_packets_change_state() -> Iterator[None]:
    old = Channel.receive

    def receive_bytes(self: Channel, now: Now, packet: bytes, via: str = "live") -> None:
        old(self, now, packet, via)
        refused = self.state.codec.decode(packet)
        if isinstance(refused, Refusal):
            sync.send_sync(self.state)

    with method(Channel, "receive", receive_bytes):
        yield
