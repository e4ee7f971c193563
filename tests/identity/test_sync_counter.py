"""The counters of signed sync messages: they grow with each message, whatever the clock does and over a restart."""

from __future__ import annotations

from itertools import pairwise

import pytest

from sdschat.identity.signing import Identity
from sdschat.identity.sync_proof import SigningCodec
from sdschat.sds.channel import Channel
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import Message, Now
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.sync_proof import split_proof

START = 1_700_000_000_000
HOUR = 3_600_000
KEY = Identity(b"a" * 32)


class CountingCodec(SigningCodec):
    made = 0

    def encode(self, message: Message) -> bytes:
        self.made += 1
        return super().encode(message)


def opened(store: MemoryStore, codec: SigningCodec, wall: int) -> Channel:
    return Channel(
        "lobby",
        KEY.sender_id,
        codec=codec,
        history=store.history,
        secret=b"s" * 32,
        now=Now(wall, 0),
        snapshot=store.snapshot(),
    )


def counters(channel: Channel, store: MemoryStore, wall: int) -> list[int]:
    """Return the counters of the sync messages of half an hour from here on."""
    found = []
    for mono in range(0, HOUR // 2, 1000):
        channel.advance(Now(wall + mono, mono))
        ready = channel.take()
        store.apply(ready.writes)
        proofs = [split_proof(packet.raw)[1] for packet in ready.packets if packet.kind == "sync"]
        found += [proof.counter for proof in proofs if proof is not None]
    return found


@pytest.mark.parametrize("ahead", [0, HOUR], ids=["a right clock", "a clock that was ahead"])
def test_they_grow_over_a_restart(ahead: int) -> None:
    """They grew by two a message while the clock was behind the Lamport time, which itself grew by one: after a restart
    half an hour of messages had counters that were used before, and others took nothing that they said."""
    store = MemoryStore()
    first = opened(store, SigningCodec(SdsCodec(), KEY, "lobby"), START + ahead)
    store.apply(first.take().writes)
    found = counters(first, store, START)
    again = opened(store, SigningCodec(SdsCodec(), KEY, "lobby"), START + HOUR // 2)
    found += counters(again, store, START + HOUR // 2)
    assert len(found) > 40
    assert all(one < other for one, other in pairwise(found))


def test_each_message_is_signed_once() -> None:
    """It was signed once to find its size, and once to be sent."""
    store, codec = MemoryStore(), CountingCodec(SdsCodec(), KEY, "lobby")
    sent = counters(opened(store, codec, START), store, START)
    assert codec.made == len(sent) > 20


def test_the_size_of_a_sync_message_counts_its_proof() -> None:
    codec = SigningCodec(SdsCodec(), KEY, "lobby")
    message = Message(KEY.sender_id, "sync-1", "lobby", START)
    assert len(codec.encode(message)) <= codec.size(message)
