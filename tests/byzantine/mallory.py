"""Everything that mallory does, one deed at a time, drawn by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Final

from sdschat.identity.sync_proof import sign_sync
from sdschat.sds.bloom import compact
from sdschat.sds.values import Draft, HistoryEntry, Message
from sdschat.wire.sync_proof import split_proof
from tests.byzantine.world import CHANNEL, CODEC, HONEST, START, ByzantineWorld, signed

DEVICES: Final = (bytes(8), b"a second", b"a third1")  # their numbers begin at 0, 1000 and 2000
_SHAPE: Final = compact.shape_for(256, 0.0001)


class Mallory:
    """Deeds return a packet; `act` sends it to some of the others."""

    def __init__(self, world: ByzantineWorld) -> None:
        self.world = world
        self.last: dict[bytes, tuple[int, str]] = {}  # by device: the highest number so far, and the id of its message
        self.deeds: list[Callable[[], bytes | None]] = [
            self.altered_copy,
            self.another_content,
            self.replay,
            self.own_message,
            self.two_things,
            self.leaves_out,
            self.another_device,
            self.contradiction,
            self.dated_ahead,
            self.names_of_nothing,
            self.sync_in_anothers_name,
            self.moved_proof,
            self.lying_sync,
            self.request,
        ]

    def act(self) -> None:
        world = self.world
        packet = world.chance.choice(self.deeds)()
        if packet is not None:
            some = world.chance.sample(range(HONEST), world.chance.randint(1, HONEST))
            sure = world.limited and self._is_own(packet)
            world.send(packet, list(range(HONEST)) if sure else some, sure=sure)

    def _is_own(self, packet: bytes) -> bool:
        message = CODEC.decode(split_proof(packet)[0])
        return isinstance(message, Message) and message.sender_id == self.world.mallory.sender_id

    def _heard(self) -> Message | None:
        """Return a message with content that somebody sent."""
        for _ in range(5):
            if self.world.heard:
                message = CODEC.decode(split_proof(self.world.chance.choice(self.world.heard))[0])
                if isinstance(message, Message) and message.content:
                    return message
        return None

    def altered_copy(self) -> bytes | None:
        message = self._heard()
        if message is None or message.lamport_timestamp is None:
            return None
        chance = self.world.chance
        wrong = chance.choice(
            [
                replace(message, lamport_timestamp=message.lamport_timestamp + chance.choice((-5000, -1, 1, 5000))),
                replace(message, causal_history=()),
                replace(message, causal_history=(HistoryEntry("f" * 64),)),
                replace(message, causal_history=message.causal_history[::-1]),
                replace(message, bloom_filter=compact.encode_window(0, _SHAPE, _SHAPE.bits >> 3, START)),
                replace(message, sender_id=self.world.mallory.sender_id),
            ]
        )
        return CODEC.encode(wrong) if wrong != message else None

    def another_content(self) -> bytes | None:
        """Another content under the id of an honest message."""
        message = self._heard()
        return None if message is None else CODEC.encode(replace(message, content=self._said("instead").content))

    def replay(self) -> bytes | None:
        return self.world.chance.choice(self.world.heard) if self.world.heard else None

    def _said(self, text: str, draft: Draft | None = None, number: int = 0, device: bytes = DEVICES[0]) -> Message:
        """Return a message of mallory's own, at any place. It names the message before it, or one that never was."""
        world = self.world
        lamport = START + world.time + world.chance.randrange(-60_000, 5000)
        draft = draft or Draft(lamport, (), None)
        last, before = self.last.get(device, (1000 * DEVICES.index(device), ""))
        number = number or last + 1
        previous = world.chance.choice((before, sha256(b"previous").hexdigest())) if number > 1 else ""
        content = signed(world.mallory, f"{text} {world.time}", number, previous, draft, device)
        name, sender = sha256(content).hexdigest(), world.mallory.sender_id
        if number > last:
            self.last[device] = number, name
        lamport = draft.lamport_timestamp or 0
        world.signed[name] = (lamport, tuple(entry.message_id for entry in draft.causal_history))
        return Message(sender, name, CHANNEL, lamport, draft.causal_history, draft.bloom_filter, (), content)

    def own_message(self) -> bytes:
        return CODEC.encode(self._said("mine"))

    def two_things(self) -> bytes:
        """Another message with a number that is used already, not long ago."""
        last, _ = self.last.get(DEVICES[0], (1, ""))
        return CODEC.encode(self._said("or not", number=max(1, last - self.world.chance.randrange(3))))

    def leaves_out(self) -> bytes:
        """The next message, at times with a number that leaves out one or two."""
        last, _ = self.last.get(DEVICES[0], (1, ""))
        omitted = self.world.chance.choice((0, 0, 1, 2))
        return CODEC.encode(self._said("further on", number=last + 1 + omitted))

    def another_device(self) -> bytes:
        return CODEC.encode(self._said("from afar", device=self.world.chance.choice(DEVICES[1:])))

    def contradiction(self) -> bytes | None:
        """A message dated before what it names: whoever has the parent refuses it."""
        parent = self._heard()
        if parent is None:
            return None
        entry = HistoryEntry(parent.message_id, None, parent.sender_id)
        return CODEC.encode(self._said("before", Draft((parent.lamport_timestamp or 2) - 1, (entry,), None)))

    def dated_ahead(self) -> bytes:
        # With a limit, one may keep the id of what is due soon, and another make it wait and then have no room.
        ahead = self.world.chance.choice((60_000, 500_000) if self.world.limited else (60_000, 599_000, 700_000))
        return CODEC.encode(self._said("later", Draft(START + self.world.time + ahead, (), None)))

    def names_of_nothing(self) -> bytes:
        entries = tuple(HistoryEntry(f"nothing {self.world.time} {number}") for number in range(3))
        return CODEC.encode(self._said("after", Draft(START + self.world.time, entries, None)))

    def _sync(self, sender_id: str) -> bytes:
        """A sync message that names the newest messages, with a filter that seems to hold everything."""
        names = tuple(HistoryEntry(message_id) for message_id in list(self.world.said)[-2:])
        full = sum(1 << bit for bit in range(0, _SHAPE.bits, 2))
        packed = compact.encode_window(full, _SHAPE, _SHAPE.bits >> 3, START - 60_000)
        return CODEC.encode(Message(sender_id, "sync", CHANNEL, START + self.world.time, names, packed))

    def sync_in_anothers_name(self) -> bytes:
        return self._sync(self.world.chance.choice([*(node.key.sender_id for node in self.world.nodes), "nobody"]))

    def moved_proof(self) -> bytes | None:
        """The proof of one honest sync message on another packet in that name."""
        for packet in self.world.heard[-20:]:
            rest, proof = split_proof(packet)
            message = CODEC.decode(rest)
            if proof is not None and isinstance(message, Message):
                return self._sync(message.sender_id) + packet[len(rest) :]
        return None

    def lying_sync(self) -> bytes:
        mallory = self.world.mallory
        return sign_sync(mallory, CHANNEL, START + self.world.time, self._sync(mallory.sender_id))

    def request(self) -> bytes:
        wanted = tuple(HistoryEntry(message_id, None, "x") for message_id in list(self.world.said)[-3:])
        mallory = self.world.mallory
        packet = CODEC.encode(Message(mallory.sender_id, "sync", CHANNEL, START + self.world.time, (), None, wanted))
        return sign_sync(mallory, CHANNEL, START + self.world.time, packet)
