"""Arbitrary input from members of a group, alone or together: no exception, and no more state than the limits allow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from random import Random

import pytest

from sdschat.mvds import limits
from sdschat.mvds.config import Config
from sdschat.mvds.dag import memory_cost
from sdschat.mvds.engine import Engine
from sdschat.mvds.events import Rejected
from sdschat.mvds.memory import MemoryStore
from sdschat.mvds.values import Message, Metadata, Mode, Now, Payload, Reason, RecordType, message_id
from sdschat.wire.mvds_codec import MvdsCodec

GROUP, OTHER = b"g" * 32, b"o" * 32
PEERS = ("ann", "bob", "cid")
TIMES = (0, 1, -1, 2**63 - 1, -(2**63), 1_700_000_000_000_000_000)
CODEC = MvdsCodec()


def _id(number: int) -> bytes:
    return sha256(b"%d" % number).digest()


class _Node:
    def __init__(self) -> None:
        self.store = MemoryStore()
        self.engine = Engine(Config(), b"secret", self.store, Now(10**12, 0))
        self.engine.join(GROUP, PEERS)
        self.mono = 0
        self.rejected: Counter[Reason] = Counter()
        self.take()

    def hear(self, peer: str, payload: Payload) -> None:
        """Feed a payload as bytes, as from a network, except payloads that no decoder accepts."""
        self.mono += 7
        decoded = CODEC.decode(CODEC.encode(payload))
        self.engine.receive(peer, decoded, Now(10**12 + self.mono, self.mono))
        self.engine.advance(Now(10**12 + self.mono, self.mono))
        self.take()

    def take(self) -> None:
        ready = self.engine.take()
        self.store.apply(ready.writes)
        for event in ready.events:
            if isinstance(event, Rejected):
                self.rejected[event.reason] += event.times


def _message(draw: Random, known: Sequence[bytes]) -> Message:
    parents = tuple(draw.choice(known) if known and draw.random() < 0.6 else _id(draw.randrange(99)) for _ in range(3))
    metadata = Metadata(parents[: draw.randrange(4)], draw.random() < 0.2) if draw.random() < 0.8 else None
    group = draw.choice((GROUP, GROUP, GROUP, OTHER, b"", b"short", bytes(100)))
    return Message(group, draw.choice(TIMES), draw.randbytes(draw.randrange(9)), metadata)


@pytest.mark.parametrize("seed", range(5))
def test_any_mixture_of_records_is_borne_and_survives_a_restart(seed: int) -> None:
    draw, node = Random(seed), _Node()
    known: list[bytes] = []
    for step in range(150):
        messages = tuple(_message(draw, known) for _ in range(draw.randrange(4)))
        known += [message_id(message) for message in messages]
        ids = [draw.choice(known) if known and draw.random() < 0.5 else _id(draw.randrange(200)) for _ in range(9)]
        ids += [draw.randbytes(draw.choice((0, 31, 33)))] * (draw.random() < 0.05)
        lists = [tuple(draw.sample(ids, draw.randrange(5))) for _ in range(3)]
        node.hear(draw.choice((*PEERS, "stranger")), Payload(lists[0], lists[1], lists[2], messages))
        if step % 40 == 20:
            node.engine.send(GROUP, b"%d" % step, Now(10**12 + node.mono, node.mono), mode=draw.choice(list(Mode)))
            node.take()
    assert node.engine.snapshot() == node.store.snapshot()


def test_a_flood_of_offers_and_requests_ends_at_what_one_peer_may_have_open() -> None:
    node = _Node()
    for start in range(0, 40_000, 4000):
        ids = tuple(_id(number) for number in range(start, start + 4000))
        node.hear("ann", Payload(offers=ids, requests=ids, acks=ids))
    records = node.store.snapshot().records
    assert 0 < len(records) <= limits.REQUESTS_PER_PEER
    assert node.rejected[Reason.REQUEST_QUOTA] == 40_000 - limits.OFFERS_PER_PEER - len(records)
    assert {(record.peer, record.type) for record in records} == {("ann", RecordType.REQUEST)}


def test_messages_with_parents_that_do_not_exist_end_at_the_share_of_their_sender() -> None:
    node = _Node()
    for start in range(0, 16_000, 100):
        parents = tuple(_id(number) for number in range(start, start + 2))
        many = [Message(GROUP, 5 + at, b"x", Metadata(parents)) for at in range(start, start + 100)]
        node.hear("ann", Payload(messages=tuple(many)))
    snapshot = node.store.snapshot()
    assert len(snapshot.waiting) == limits.WAITING_BYTES_PER_PEER // memory_cost(many[0])
    assert len(snapshot.records) <= limits.REQUESTS_PER_PEER
    bob = Message(GROUP, 9, b"of another", Metadata((_id(1),)))
    node.hear("bob", Payload(messages=(bob,)))
    assert message_id(bob) in {row.message_id for row in node.store.snapshot().waiting}


def test_roots_without_end_make_no_more_heads_than_allowed() -> None:
    node = _Node()
    for number in range(400):
        node.hear("ann", Payload(messages=(Message(GROUP, number, b"root", None),)))
    heads = [head for row in node.store.snapshot().heads for head in row.heads]
    assert len(heads) <= limits.MAX_HEADS


def test_lists_that_are_too_long_or_of_other_lengths_change_nothing() -> None:
    node = _Node()
    before = node.store.snapshot()
    many = tuple(_id(number) for number in range(limits.MAX_PACKET_BYTES // 32))
    for payload in (
        Payload(offers=many),
        Payload(messages=(Message(b"", 0, b""),) * (limits.MAX_MESSAGES + 1)),
        Payload(offers=(b"x",)),
        Payload(requests=(b"",)),
        Payload(acks=(bytes(33),)),
    ):
        node.hear("ann", payload)
    assert node.store.snapshot().records == before.records
