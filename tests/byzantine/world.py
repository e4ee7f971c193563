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
from typing import TYPE_CHECKING, Final, cast

from sdschat.identity.content import seal
from sdschat.identity.key_book import KeyBook
from sdschat.identity.key_rows import KeyRow
from sdschat.identity.place import forged, is_placed, place_of, refusal_of
from sdschat.identity.signing import Identity
from sdschat.identity.sync_proof import SigningCodec
from sdschat.node.channel.author_chains import AuthorChains, said_twice
from sdschat.node.channel.proofs import Proofs
from sdschat.node.channel.sender_limits import SenderLimits
from sdschat.sds.channel import Channel
from sdschat.sds.config import DEMO
from sdschat.sds.events import Delivered, KeptAsId, PushScheduled, RangeDiffered, StateChanged
from sdschat.sds.memory import MemoryStore
from sdschat.sds.values import Draft, Message, MessageKind, Now, Refusal
from sdschat.wire.sds_codec import SdsCodec
from tests.byzantine.chain_oracle import ChainOracle

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.store.transaction import Transaction

CHANNEL: Final = "lobby"
CODEC: Final = SdsCodec()
START: Final = 1_760_000_000_000
TICK: Final = 100  # milliseconds
HONEST: Final = 4
LIMIT: Final = 12  # messages of one sender in a minute; the honest stay below it nearly always


@lru_cache(maxsize=4096)
def _refused(packet: bytes) -> bool:
    """True if the content of a packet is not what its author signed: the same answer at every node."""
    message = CODEC.decode(packet)
    assert isinstance(message, Message)
    return (refusal_of(message) or (forged(message) if is_placed(message) else None)) is not None


class MemoryValues:
    """The values of a profile, in memory."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def value(self, name: str) -> bytes | None:
        return self._values.get(name)

    def values(self, prefix: str) -> dict[str, bytes]:
        return {name: value for name, value in self._values.items() if name.startswith(prefix)}

    def set_value(self, name: str, value: bytes) -> None:
        self._values[name] = value

    def forget_value(self, name: str) -> None:
        self._values.pop(name, None)


class Honest:
    """A participant as `ChannelSession` drives it."""

    name: Final = CHANNEL
    gives_since_join: Final = False

    def __init__(self, number: int, keys: list[Identity], limit: int) -> None:
        self.key = keys[number]
        self.store = MemoryStore()
        self.sequence, self.last = 0, ""
        self.refused = 0
        self.claims: list[StateChanged] = []
        self.ids_only: set[str] = set()
        self.differences = 0  # that comparisons have shown
        self._limits = SenderLimits(limit, limit)
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
        self._values = MemoryValues()
        self._chains = AuthorChains(self._values, book)
        self._chains.attach(cast("ChannelSession", self))
        self.oracle = ChainOracle(
            (each.sender_id for each in keys[:HONEST]), lambda *place: said_twice(self._values, CHANNEL, *place)
        )

    def mark_ready(self) -> None:
        """Nothing to do: `ByzantineWorld.tick` looks at everybody."""

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
            if self._exceeds(message, now):
                self.channel.receive_id(now, message)
            else:
                self.channel.receive_message(now, message, packet, unproven=self.proofs.unproven(heard))

    def _exceeds(self, message: Message, now: Now) -> bool:
        ahead = (message.lamport_timestamp or 0) > now.wall + DEMO.max_skew
        if ahead or message.kind is not MessageKind.CONTENT or self.channel.state.holds_in_memory(message.message_id):
            return False
        return self._limits.exceeded(message.sender_id, now.mono, fresh=True, sync=False, stranger=False)

    def say(self, now: Now, text: str) -> Message:
        def compose(draft: Draft) -> bytes:
            return signed(self.key, text, self.sequence + 1, self.last, draft)

        message = self.channel.send(now, compose)
        self.sequence, self.last = self.sequence + 1, message.message_id
        return message

    def advance(self, now: Now) -> None:
        for each in (self.channel, self._chains):
            due = each.next_wake()
            if due is not None and due <= now.mono:
                each.advance(now)

    def take(self, now: Now) -> list[bytes]:
        ready = self.channel.take()
        self.store.apply(ready.writes)
        output = self._chains.process(ready, now)
        if output.save is not None:
            output.save(cast("Transaction", self._values))
        for event in ready.events:
            if isinstance(event, KeptAsId) or (isinstance(event, Delivered) and not event.own):
                self.oracle.hear(event.message, body=isinstance(event, Delivered))
        for told in output.events:
            self.oracle.tell(told)
        self.claims += [event for event in ready.events if isinstance(event, StateChanged)]
        self.ids_only |= {event.message.message_id for event in ready.events if isinstance(event, KeptAsId)}
        self.differences += sum(isinstance(event, RangeDiffered | PushScheduled) for event in ready.events)
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
    """`tick` lets time pass; packets take up to two seconds, and one in twenty is lost while `lossy`. With every other
    seed the honest ones keep but ids of what exceeds a limit: then all hear what mallory signs, since an id alone is
    not passed on to whoever did not hear it."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        keys = [Identity(sha256(b"%d %d" % (seed, number)).digest()) for number in range(HONEST + 1)]
        self.mallory = keys[-1]
        self.limited = bool(seed % 2)
        limit = LIMIT if self.limited else 0
        self.nodes = [Honest(number, keys, limit) for number in range(HONEST)]
        self.said: dict[str, Message] = {}  # what honest participants said
        self.signed: dict[str, tuple[int, tuple[str, ...]]] = {}  # places of what mallory signed, by id
        self.heard: list[bytes] = []  # what mallory heard
        self.lossy = True
        self.time = 0
        self._order = count()
        self._under_way: list[tuple[int, int, int, bytes]] = []

    @property
    def now(self) -> Now:
        return Now(START + self.time, self.time)

    def send(self, packet: bytes, to: list[int], *, sure: bool = False) -> None:
        for number in to:
            if sure or not (self.lossy and self.chance.random() < 0.05):
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
            node.advance(self.now)
            for packet in node.take(self.now):
                self.heard.append(packet)
                self.send(packet, [other for other in range(HONEST) if other != number])
