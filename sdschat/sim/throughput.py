"""Speed of the engine in a group: chat traffic among many, no faults, no checks, one core.

Time goes in ticks, in which every peer takes what came for it since the last one and then makes one step true, as a
node that drains its socket does. Decoding is shared, since it is pure and everybody hears the same bytes.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sdschat.sds.channel import Channel
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import Message, Now, Refusal
from sdschat.sim.node import mix
from sdschat.sim.scenario import START
from sdschat.wire.sds_codec import SdsCodec

_MONO = 1_000_000
_TICK = 100  # milliseconds
_PER_TICK = 5  # messages sent in the group in each of them: one a second from each of fifty


@dataclass(frozen=True, slots=True)
class Throughput:
    peers: int
    messages: int
    packets: int
    received: int
    deliveries: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.deliveries / self.seconds

    def line(self) -> str:
        return (
            f"{self.peers} peers, {self.messages} messages, {self.packets} packets, {self.received} received: "
            f"{self.deliveries} deliveries in {self.seconds:.2f} s, {self.rate:,.0f} a second"
        )


class _Group:
    def __init__(self, peers: int) -> None:
        self.codec = SdsCodec()
        self.stores = [MemoryStore() for _ in range(peers)]
        now = Now(START, _MONO)
        self.channels = [
            Channel("lobby", f"peer {at}", codec=self.codec, history=store.history, secret=b"%d" % at, now=now)
            for at, store in enumerate(self.stores)
        ]
        self.on_the_way: list[tuple[int, bytes, Message]] = []
        self.packets = self.received = 0
        for at in range(peers):
            self.flush(at)

    def flush(self, peer: int) -> None:
        ready = self.channels[peer].take()
        if ready.writes:
            self.stores[peer].apply(ready.writes)
        for packet in ready.packets:
            message = self.codec.decode(packet.raw)
            if isinstance(message, Refusal):
                raise ValueError(f"the engine made a packet that is {message.reason}")
            self.packets += 1
            self.on_the_way.append((peer, packet.raw, message))

    def tick(self, at: int) -> None:
        """Let everybody take what was sent in the last tick, no two in the same order, and do what is due."""
        arrived, self.on_the_way = self.on_the_way, []
        now = Now(START + at, _MONO + at)
        for peer, channel in enumerate(self.channels):
            turn = peer % (len(arrived) or 1)
            for sender, raw, message in arrived[turn:] + arrived[:turn]:
                if sender != peer:
                    self.received += 1
                    channel.receive_message(now, message, raw)
            due = channel.next_wake()
            if due is not None and due <= now.mono:
                channel.advance(now)
            self.flush(peer)


def measure(peers: int = 50, messages: int = 1000) -> Throughput:
    """Measure how long `messages`, sent by all in turn, take until everybody has them. Making and encoding them counts
    too."""
    group = _Group(peers)
    gc.disable()  # the engine makes no cycles: the collector would look at fifty histories in vain
    try:
        seconds = _talk(group, peers, messages)
    finally:
        gc.enable()
    if any(len(store.history) != messages for store in group.stores):
        raise ValueError("not everybody has every message")
    return Throughput(peers, messages, group.packets, group.received, peers * messages, seconds)


def _talk(group: _Group, peers: int, messages: int) -> float:
    began = time.perf_counter()
    at = 0
    for number in range(messages):
        if number % _PER_TICK == 0:
            at += _TICK
            group.tick(at)
        peer = mix(number) % peers
        content = b"%d: what people say to one another in a chat" % number
        group.channels[peer].send(Now(START + at, _MONO + at), content)
        group.flush(peer)
    for _ in range(10):
        at += _TICK
        group.tick(at)
    return time.perf_counter() - began


def main(argv: Sequence[str] | None = None) -> int:
    """Measure once, and print the result. Arguments: peers, messages."""
    numbers = [int(argument) for argument in (sys.argv[1:] if argv is None else argv)]
    print(measure(*numbers).line())
    return 0


if __name__ == "__main__":
    sys.exit(main())
