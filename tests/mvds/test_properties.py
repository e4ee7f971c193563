"""Properties over random runs: nodes converge once faults stop, a restart changes nothing, and no input raises."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sdschat.mvds import Config, Message, Metadata, Mode, Payload, Reason, Refusal
from sdschat.mvds.limits import MAX_MESSAGES
from sdschat.mvds.packing import Packer, message_cost
from sdschat.mvds.values import message_id
from sdschat.wire.mvds_codec import Dialect, MvdsCodec
from tests.mvds.world import GROUP, OTHER_GROUP, Faults, Node, World, at

NAMES = ("alice", "bob", "carol")
HALF_HOUR = 1_800_000

steps = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from(NAMES), st.sampled_from([*Mode, None]), st.booleans()),
        st.tuples(st.just("wait"), st.integers(1, 20_000)),
        st.tuples(st.just("restart"), st.sampled_from(NAMES)),
        st.tuples(st.just("leave"), st.sampled_from(NAMES)),
        st.tuples(st.just("return"), st.sampled_from(NAMES)),
    ),
    min_size=6,
    max_size=40,
)


def play(world: World, actions: list[tuple[Any, ...]]) -> set[bytes]:
    """Do the steps; return the ids of the sent messages that must be saved."""
    kept = set()
    for number, (what, *rest) in enumerate(actions):
        if what == "wait":
            world.run(world.now + rest[0])
        elif what == "restart":
            world.nodes[rest[0]].restart(world.now)
        elif what == "leave":
            world.away.add(rest[0])
        elif what == "return":
            come_back(world, rest[0])
        else:
            name, mode, ephemeral = rest
            mid = world.send(name, b"%d" % number, mode=mode, ephemeral=ephemeral)
            kept |= set() if ephemeral else {mid}
    return kept


def come_back(world: World, name: str) -> None:
    world.away.discard(name)
    for other in world.nodes.values():
        other.engine.peer_online(name, at(world.now))


@settings(max_examples=150, deadline=None)
@given(
    actions=steps,
    seed=st.integers(0, 2**16),
    loss=st.floats(0, 0.9),
    duplicate=st.floats(0, 0.9),
    ordering=st.sampled_from(["causal", "eventual"]),
    forward=st.booleans(),
)
def test_nodes_converge_once_delivery_is_fair(
    actions: list[tuple[Any, ...]], seed: int, loss: float, duplicate: float, ordering: Any, forward: bool
) -> None:
    config = Config(ordering=ordering, forward=forward, lost_after=0, backoff_max=64, backoff_low=4)
    world = World(NAMES, config, seed)
    world.faults = Faults(loss, duplicate, 1, 5_000)
    kept = play(world, actions)
    world.faults = Faults(0.1, 0.1, 1, 2_000)
    for name in NAMES:
        come_back(world, name)
    world.run(world.now + HALF_HOUR)
    assert world.settled()
    for node in world.nodes.values():
        assert set(node.store.messages) == kept
        assert sorted(node.delivered()) == sorted(kept), "each once"
        assert len(node.store.snapshot().heads[0].heads if kept else ()) >= bool(kept)
        assert_parents_first(node, ordering)
    assert len({frozenset(row.heads) for node in world.nodes.values() for row in node.store.snapshot().heads}) <= 1


def assert_parents_first(node: Node, ordering: str) -> None:
    place = {mid: number for number, mid in enumerate(node.delivered())}
    for mid, row in node.store.messages.items():
        if ordering == "causal":
            assert all(place[parent] < place[mid] for parent in row.message.parents)
            assert not row.gap


inputs = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from([*Mode, None])),
        st.tuples(st.just("acks"), st.integers(0, 9)),
        st.tuples(st.just("requests"), st.integers(0, 9)),
        st.tuples(st.just("offers"), st.integers(0, 9)),
        st.tuples(st.just("message"), st.integers(0, 9)),
        st.tuples(st.just("online"), st.integers(0, 1)),
        st.tuples(st.just("offline"), st.integers(0, 1)),
        st.tuples(st.just("members"), st.integers(1, 2)),
        st.tuples(st.just("wait"), st.integers(1, 5_000_000)),
    ),
    max_size=40,
)
CHAIN = [Message(GROUP, number, b"chain") for number in range(10)]
for place in range(1, 10):
    CHAIN[place] = CHAIN[place]._replace(metadata=Metadata((message_id(CHAIN[place - 1]),)))


class Script:
    """Feed one engine, and after each step let it send all it has, so that nothing is left in it that a restart may
    lose."""

    def __init__(self, config: Config) -> None:
        self.node = Node("alice", ["bob", "carol"], config)
        self.now = 0
        self.own: list[bytes] = []
        self.log: list[object] = []

    def ids(self, value: int) -> tuple[bytes, ...]:
        """The newest message of our own, or one of the peer's."""
        return tuple(self.own[-1:]) if value == 0 else (message_id(CHAIN[value]),)

    def do(self, what: str, value: Any) -> None:
        engine, now, peer = self.node.engine, at(self.now), "bob" if value else "carol"
        if what == "send":
            self.own.append(engine.send(GROUP, b"own", now, mode=value))
        elif what == "message":
            engine.receive("bob", Payload(messages=(CHAIN[value],)), now)
        elif what in ("acks", "requests", "offers"):
            lists: dict[str, Any] = {what: self.ids(value)}
            engine.receive("bob", Payload(**lists), now)
        elif what == "online":
            engine.peer_online(peer, now)
        elif what == "offline":
            engine.peer_offline(peer, now)
        elif what == "members":
            engine.join(GROUP, ["bob", "carol"][:value])
        self.now += value if what == "wait" else 1000
        self.log.append(engine.next_wake())
        engine.advance(at(self.now))
        self.log.append(self.node.take())


@settings(max_examples=150, deadline=None)
@given(actions=inputs, every=st.integers(1, 5), ordering=st.sampled_from(["causal", "eventual"]), forward=st.booleans())
def test_restored_is_as_if_never_stopped(
    actions: list[tuple[str, Any]], every: int, ordering: Any, forward: bool
) -> None:
    config = Config(ordering=ordering, forward=forward, expire_after=3, lost_after=60_000)
    steady, stopped = Script(config), Script(config)
    for number, (what, value) in enumerate(actions):
        steady.do(what, value)
        stopped.do(what, value)
        if number % every == 0:
            stopped.node.restart(stopped.now)
    assert stopped.log == steady.log
    assert stopped.node.store.snapshot() == steady.node.store.snapshot()


ids32 = st.binary(min_size=32, max_size=32)
messages = st.builds(
    Message,
    st.sampled_from([GROUP, OTHER_GROUP, b"", b"short"]),
    st.integers(-(2**63), 2**63 - 1),
    st.binary(max_size=200),
    st.none() | st.builds(Metadata, st.lists(ids32, max_size=4).map(tuple), st.booleans()),
)
payloads = st.builds(
    Payload,
    *[st.lists(ids32, max_size=5).map(tuple)] * 3,
    st.lists(messages, max_size=4).map(tuple),
)


@settings(max_examples=200, deadline=None)
@given(payload=payloads, dialect=st.sampled_from(Dialect))
def test_what_is_encoded_is_decoded(payload: Payload, dialect: Dialect) -> None:
    codec = MvdsCodec(dialect)
    assert codec.decode(codec.encode(payload)) == payload


@settings(max_examples=200, deadline=None)
@given(payload=payloads, limit=st.integers(600, 3000))
def test_packing_is_exact_and_keeps_everything(payload: Payload, limit: int) -> None:
    packer = Packer(limit)
    for mid in payload.acks:
        packer.add_ack(mid)
    for mid in payload.offers:
        packer.add_offer(mid)
    for mid in payload.requests:
        packer.add_request(mid)
    for one in payload.messages:
        packer.add_message(one, message_cost(one))
    packets = packer.packets()
    sizes = [len(MvdsCodec().encode(packet)) for packet in packets]
    assert sum(sizes) == packer.total
    assert all(0 < size <= limit for size in sizes)
    assert _joined(packets) == payload


def _joined(packets: list[Payload]) -> Payload:
    acks, offers, requests, messages = ([one for packet in packets for one in packet[part]] for part in range(4))
    lists: list[Any] = [tuple(part) for part in (acks, offers, requests, messages)]
    return Payload(*lists)


@settings(max_examples=400, deadline=None)
@given(packet=st.binary(max_size=300), dialect=st.sampled_from(Dialect))
def test_decoder_is_total(packet: bytes, dialect: Dialect) -> None:
    assert isinstance(MvdsCodec(dialect).decode(packet), Payload | Refusal)


@settings(max_examples=400, deadline=None)
@given(payload=payloads, where=st.floats(0, 1), patch=st.binary(max_size=6), cut=st.integers(0, 6), data=st.data())
def test_decoder_is_total_on_damaged_packets(
    payload: Payload, where: float, patch: bytes, cut: int, data: st.DataObject
) -> None:
    packet = MvdsCodec().encode(payload)
    place = int(where * len(packet))
    damaged = packet[:place] + patch + packet[place + cut :]
    decoded = MvdsCodec().decode(damaged)
    node = Node("alice", ["bob"])
    node.receive("bob", decoded, 0)
    assert isinstance(decoded, Payload | Refusal)
    if isinstance(decoded, Refusal):
        assert node.store.messages == {}


@settings(max_examples=150, deadline=None)
@given(arrivals=st.lists(st.tuples(st.sampled_from(["bob", "zoe"]), payloads), max_size=8))
def test_engine_is_total(arrivals: list[tuple[str, Payload]]) -> None:
    node = Node("alice", ["bob"])
    for ms, (peer, payload) in enumerate(arrivals):
        packets = node.receive(peer, payload, ms * 700)
        assert all(packet.peer == "bob" for packet in packets)
    acked = {mid for packet in node.sent for mid in packet.payload.acks}
    waiting = {row.message_id for row in node.engine.snapshot().waiting}
    assert acked <= set(node.store.messages) | waiting, "what is acknowledged is held"


def story() -> str:
    """One digest of all that three nodes write, send and report in a run with faults."""
    world = World(NAMES, Config(forward=True), seed=5)
    world.faults = Faults(0.3, 0.3, 1, 3_000)
    digest = sha256()
    for number in range(40):
        name = NAMES[number % 3]
        world.send(name, b"%d" % number, mode=[*Mode][number % 2])
        world.run(world.now + 300)
    world.run(world.now + 60_000)
    for node in world.nodes.values():
        digest.update(repr((node.events, node.sent, node.store.snapshot())).encode())
    return digest.hexdigest()


def test_order_does_not_depend_on_hash_seeds() -> None:
    program = "from tests.mvds.test_properties import story; print(story())"
    reported = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2", "3")
    }
    assert reported == {story()}


def test_decoder_bounds() -> None:
    codec = MvdsCodec()
    one, five = bytes(32), Message(GROUP, 5, b"x")

    def reason(payload: Payload) -> Reason | None:
        decoded = codec.decode(codec.encode(payload))
        return decoded.reason if isinstance(decoded, Refusal) else None

    assert reason(Payload(acks=(one[:31],))) is Reason.ID_LENGTH
    assert reason(Payload(messages=(five._replace(metadata=Metadata((b"",))),))) is Reason.ID_LENGTH
    assert reason(Payload(offers=(one,) * 4097, acks=(one,) * 4097, requests=(one,) * 4097)) is None
    assert reason(Payload(offers=(one,) * 40_000)) is Reason.TOO_LARGE
    assert reason(Payload(messages=(five._replace(group_id=b""),) * (MAX_MESSAGES + 1))) is Reason.TOO_MANY_ENTRIES
    assert reason(Payload(messages=(five._replace(metadata=Metadata((one,) * 257)),))) is Reason.TOO_MANY_ENTRIES
    assert reason(Payload(messages=(five._replace(body=bytes(2**20)),))) is Reason.TOO_LARGE
    unknown = codec.encode(Payload(acks=(one,))) + b"\x7a\xff\x07" + bytes(1023)
    assert codec.decode(unknown) == Refusal(Reason.UNKNOWN_FIELDS, "1026 bytes")
    assert codec.decode(b"\x7a\x01x") == Payload()
    assert codec.decode(b"\xff") == Refusal(Reason.UNREADABLE)
    node = Node("alice", ["bob"])
    node.receive("bob", Refusal(Reason.UNREADABLE), 0)
    assert node.events[0] == ("bob", Reason.UNREADABLE, 1, "")
