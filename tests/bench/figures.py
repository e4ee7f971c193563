"""The measurements. Each returns plain numbers, without a judgement."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.channel import Channel
from sdschat.sds.config import Config, FilterFormat
from sdschat.sds.memory import MemoryStore
from sdschat.sds.state import ChannelState
from sdschat.sds.values import Message, Now
from sdschat.wire import sds_pb2
from sdschat.wire.sds_codec import SdsCodec
from tests.peers.node_peer import run_script
from tests.peers.packets import conversation, write_packets

CODEC = SdsCodec()
START = 1_760_000_000_000
KEPT_BODIES = 1024  # message bodies in memory; the node keeps all of them in SQLite


class Timed(NamedTuple):
    """Messages a second, from packets as bytes and from decoded messages."""

    packed: float
    decoded: float


class Peer:
    """An engine with its log in memory, driven as by a node: its ready output is taken after every packet."""

    def __init__(self, layout: FilterFormat, participant: str = "f" * 32) -> None:
        self.store = MemoryStore(bodies=KEPT_BODIES)
        self.channel = Channel(
            "bench",
            participant,
            codec=CODEC,
            history=self.store.history,
            secret=b"bench",
            now=Now(START, 0),
            config=Config(bloom_layout=layout),
        )

    def receive(self, message: Message, raw: bytes) -> None:
        at = message.lamport_timestamp or START
        self.channel.receive_message(Now(at, at - START), message, raw)
        self.store.apply(self.channel.take().writes)

    def receive_packet(self, at: int, raw: bytes) -> None:
        self.channel.receive(Now(at, at - START), raw)
        self.store.apply(self.channel.take().writes)

    def send(self, at: int, content: bytes) -> bytes:
        self.channel.send(Now(at, at - START), content)
        ready = self.channel.take()
        self.store.apply(ready.writes)
        return ready.packets[-1].raw


def spoken(count: int, layout: FilterFormat, senders: int = 2) -> Iterable[Message]:
    """Return packets that engines send one another, with their own filters and histories."""
    peers = [Peer(layout, f"{number:032x}") for number in range(senders)]
    for number in range(count):
        speaker = number % senders
        raw = peers[speaker].send(START + 10 * number + 1, b"message %d of the benchmark" % number)
        message = CODEC.decode(raw)
        assert isinstance(message, Message)
        for place, peer in enumerate(peers):
            if place != speaker:
                peer.receive(message, raw)
        yield message


def receive_rate(messages: Iterable[Message], history: int, measured: int, layout: FilterFormat, own: int = 0) -> Timed:
    """Measure receiving `measured` messages after `history` others, in two engines that get the same packets.

    Meanwhile `own` messages of each wait for an acknowledgement, which is searched in every filter.
    """
    packed, decoded = Peer(layout), Peer(layout)
    stream = iter(messages)
    for message in islice(stream, history):
        raw = CODEC.encode(message)
        packed.receive(message, raw)
        decoded.receive(message, raw)
    rest = [(message, CODEC.encode(message)) for message in islice(stream, measured)]
    for peer in (packed, decoded):
        for number in range(own):
            peer.send((rest[0][0].lamport_timestamp or START) - 1, b"own message %d" % number)

    def with_decoding() -> None:
        for message, raw in rest:
            packed.receive_packet(message.lamport_timestamp or START, raw)

    def without() -> None:
        for message, raw in rest:
            decoded.receive(message, raw)

    result = Timed(len(rest) / seconds(with_decoding), len(rest) / seconds(without))
    for peer in (packed, decoded):
        assert len(peer.store.history) == history + own + measured, "every message is delivered"
    return result


def send_rate(history: int, measured: int, layout: FilterFormat) -> float:
    """Measure sending `measured` messages after `history` received ones."""
    peer = Peer(layout)
    for message in conversation(history):
        peer.receive(message, CODEC.encode(message))
    now = START + history

    def work() -> None:
        for number in range(measured):
            peer.send(now + number, b"own message %d" % number)

    return measured / seconds(work)


def peer_receive_rate(folder: Path, messages: Iterable[Message], history: int, measured: int, own: int = 0) -> Timed:
    """Measure receiving the same packets in the npm package."""
    file = folder / f"{history}.packets"
    write_packets(file, (CODEC.encode(message) for message in messages))
    found = run_script("bench_receive.mjs", file, history, own)
    file.unlink()
    assert found["delivered"] == measured, found
    return Timed(measured / found["seconds"], measured / found["seconds_decoded"])


def peer_send_rate(folder: Path, history: int, measured: int) -> float:
    file = folder / "send.packets"
    write_packets(file, (CODEC.encode(message) for message in conversation(history)))
    found = run_script("bench_send.mjs", file, history, measured)
    file.unlink()
    return float(measured / found["seconds"])


def parse_floor(messages: list[Message]) -> float:
    """Measure only protobuf's parsing: packets a second."""
    raws = [CODEC.encode(message) for message in messages]

    def work() -> None:
        for raw in raws:
            sds_pb2.Message.FromString(raw)

    return len(raws) / seconds(work)


def serialise_floor(messages: list[Message]) -> float:
    """Measure only protobuf's writing: packets a second."""
    parsed = [sds_pb2.Message.FromString(CODEC.encode(message)) for message in messages]

    def work() -> None:
        for packet in parsed:
            packet.SerializeToString()

    return len(parsed) / seconds(work)


def insert_floor(messages: list[Message], layout: FilterFormat) -> float:
    """Measure only putting ids into the filter: ids a second."""
    own = OwnFilter(layout, 256, 0.0001, 0)  # like the engine's filter, which rolls over when it is full
    ids = [f"{message.message_id}{layout}" for message in messages]  # new ids: no cache knows their hashes

    def work() -> None:
        for message_id in ids:
            own.add(message_id, START)
            if own.full:
                own.roll()

    return len(ids) / seconds(work)


def packet_overhead() -> int:
    """Return the bytes around the content of a packet with two causal ids and 256 ids in its filter."""
    peer = Peer("compact")
    state: ChannelState = peer.channel.state
    for message in conversation(2000, filter_bytes=0):
        if state.filter.count == state.filter.capacity - 1:
            break
        peer.receive(message, CODEC.encode(message))
    content = b"x" * 32
    raw = peer.send(START + 2000, content)
    return len(raw) - len(content)


def memory_per_message(count: int) -> float:
    """Return the bytes of memory for each message of a history whose older bodies are only on disk."""
    peer = Peer("compact")
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for message in conversation(count, filter_bytes=627):
        peer.receive(message, CODEC.encode(message))
    del message
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / count


def seconds(work: Callable[[], None]) -> float:
    gc.collect()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
