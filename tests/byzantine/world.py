"""A channel of honest participants and one who is not, in simulated time: real engines, real keys, one seed.

The dishonest one, mallory, has a key, hears everything, and sends what it likes to whom it likes: whatever it can sign,
and whatever it can copy. Nothing else can be sent by anybody who has not the others' keys.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final

from sdschat.identity.content import seal
from sdschat.identity.key_book import KeyBook, KeyRow
from sdschat.identity.keys import Identity
from sdschat.identity.place import forged, is_placed, place_of, refusal_of
from sdschat.identity.sync_proof import SigningCodec
from sdschat.node.channel.proofs import Proofs
from sdschat.sds.channel import Channel
from sdschat.sds.config import DEMO
from sdschat.sds.events import StateChanged
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import Draft, Message, MessageKind, Now, Refusal
from sdschat.wire.sds_codec import SdsCodec

CHANNEL: Final = "lobby"
CODEC: Final = SdsCodec()
START: Final = 1_760_000_000_000
TICK: Final = 100  # milliseconds
HONEST: Final = 4
_BOOK: Final = KeyBook()


@lru_cache(maxsize=4096)
def _refused(packet: bytes) -> bool:
    """True if the content of a packet is not what its author signed: the same answer at every node."""
    message = CODEC.decode(packet)
    assert isinstance(message, Message)
    return (refusal_of(message) or (forged(message, _BOOK) if is_placed(message) else None)) is not None


class Honest:
    """A participant as `ChannelSession` drives it."""

    def __init__(self, number: int, keys: list[Identity]) -> None:
        self.key = keys[number]
        self.store = MemoryStore()
        self.sequence, self.last = 0, ""
        self.refused = 0
        self.claims: list[StateChanged] = []
        self.channel = Channel(
            CHANNEL,
            self.key.sender_id,
            codec=SigningCodec(CODEC, self.key, CHANNEL),
            history=self.store.history,
            secret=bytes([number]),
            now=Now(START, 0),
            config=DEMO,
        )
        book = KeyBook(KeyRow(each.public_key, "", START) for each in keys)
        self.proofs = Proofs(CHANNEL, CODEC, book, unsigned_counts=False)

    def hear(self, now: Now, packet: bytes) -> None:
        heard = self.proofs.decode(packet)
        message = heard.message
        if (
            isinstance(message, Refusal)
            or self.proofs.refusal_of(heard) is not None
            or (message.kind is not MessageKind.SYNC and _refused(packet))
        ):
            self.refused += 1
        elif not self.proofs.repeated(heard):
            self.channel.receive_message(now, message, packet, unproven=self.proofs.unproven(heard))

    def say(self, now: Now, text: str) -> Message:
        def compose(draft: Draft) -> bytes:
            return signed(self.key, text, self.sequence + 1, self.last, draft)

        message = self.channel.send(now, compose)
        self.sequence, self.last = self.sequence + 1, message.message_id
        return message

    def take(self) -> list[bytes]:
        ready = self.channel.take()
        self.store.apply(ready.writes)
        self.claims += [event for event in ready.events if isinstance(event, StateChanged)]
        return [packet.raw for packet in ready.packets]

    def log(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Return the places of all messages of the log, by id."""
        state = self.channel.state
        return {entry.message_id: (entry.lamport, entry.dependencies) for entry in state.newest(1 << 30)}


def signed(key: Identity, text: str, sequence: int, previous: str, draft: Draft, device: bytes = bytes(8)) -> bytes:
    """Return a content that this key signed. The nonce follows from the rest, so that a seed is one run."""
    place = place_of(device, sequence, previous, draft)
    nonce = sha256(repr((key.sender_id, text, place)).encode()).digest()[:8]
    return seal(key, CHANNEL, text, nick="x", sent_time=START, nonce=nonce, place=place)


class ByzantineWorld:
    """`until` lets time pass; packets take up to two seconds, and one in twenty is lost while `lossy`."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        keys = [Identity(sha256(b"%d %d" % (seed, number)).digest()) for number in range(HONEST + 1)]
        self.mallory = keys[-1]
        self.nodes = [Honest(number, keys) for number in range(HONEST)]
        self.said: dict[str, Message] = {}  # what honest participants said
        self.heard: list[bytes] = []  # what mallory heard
        self.lossy = True
        self.time = 0
        self._order = count()
        self._under_way: list[tuple[int, int, int, bytes]] = []

    @property
    def now(self) -> Now:
        return Now(START + self.time, self.time)

    def send(self, packet: bytes, to: list[int]) -> None:
        for number in to:
            if not (self.lossy and self.chance.random() < 0.05):
                due = self.time + self.chance.randrange(2000)
                heappush(self._under_way, (due, next(self._order), number, packet))

    def speak(self, text: str) -> None:
        number = self.chance.randrange(HONEST)
        message = self.nodes[number].say(self.now, text)
        self.said[message.message_id] = message

    def tick(self) -> None:
        self.time += TICK
        while self._under_way and self._under_way[0][0] <= self.time:
            _, _, number, packet = heappop(self._under_way)
            self.nodes[number].hear(self.now, packet)
        for number, node in enumerate(self.nodes):
            due = node.channel.next_wake()
            if due is not None and due <= self.time:
                node.channel.advance(self.now)
            for packet in node.take():
                self.heard.append(packet)
                self.send(packet, [other for other in range(HONEST) if other != number])
