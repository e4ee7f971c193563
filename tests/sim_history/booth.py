"""A node as the parts of a channel that deal with Stores see it, in a simulation: no transport, no database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

from sdschat.catchup.values import LogKey
from sdschat.node.channel.extension import Handler, OutgoingPacket
from sdschat.node.channel.session import ChannelExtension
from sdschat.node.store_client.client import StoreClient
from sdschat.node.store_client.events import StoreLeft
from sdschat.node.store_client.verify import StoreReputation
from sdschat.node.store_server.quota import Quota
from sdschat.node.store_server.server import Shared, StoreServer
from sdschat.sds.channel import Channel
from sdschat.sds.state import Ready
from sdschat.sds.values import Now
from sdschat.sim.companion import Companion
from sdschat.sim.node import CHANNEL
from sdschat.store.archive import ArchivedMessage, ArchiveRange
from tests.sim_history.people import Person, Strangers

_NOTHING = Ready([], [], [])
_TURNS = 16  # of parts, in one step: what a question that nobody answers leads to is done in the same step


class Booth:
    """Stands in for `sdschat.node.channel.session.Room`, as far as `StoreClient` and `StoreServer` use one."""

    def __init__(
        self,
        companion: Companion,
        person: Person,
        standing: StoreReputation,
        shelf: Any | None,
        floor: Callable[[str], int] = lambda _: 0,
        quota: Quota | None = None,
    ) -> None:
        """`shelf`, `floor` and `quota` are a Store's: what it answers from, from which date on, and how much of it."""
        self.name = CHANNEL
        self.presence = SimpleNamespace(online={}, roles={}, role="")
        self.transport = SimpleNamespace(waiting=0, connected=True)
        self.left: list[str] = []  # Stores that were found to lie
        self.packets: list[OutgoingPacket] = []
        self._companion = companion
        self._handlers: dict[str, Handler] = {}
        self._soon: list[Callable[[], None]] = []
        self._ready = False
        draw = Random(f"{person.address} {companion.world.scenario.seed} {companion.node.boots}")
        self.client = StoreClient(person.identity, Strangers(), standing, draw.randbytes)
        self.parts: list[ChannelExtension] = [self.client]
        if shelf is not None:
            self.parts.append(StoreServer(Shared(person.identity, shelf, floor, self._soon.append, quota)))
        for part in self.parts:
            part.attach(self)  # type: ignore[arg-type]

    @property
    def channel(self) -> Channel:
        channel = self._companion.node.channel
        assert channel is not None
        return channel

    def handle(self, what: str, handler: Handler) -> None:
        self._handlers[what] = handler

    def mark_ready(self) -> None:
        self._ready = True

    def send_packets(self, packets: Sequence[OutgoingPacket]) -> None:
        self.packets += packets

    def receive(self, packet: bytes, via: str) -> None:
        world, node = self._companion.world, self._companion.node
        message = world.codec.decode(packet)
        self.channel.receive_message(node.now(world.time), message, packet, via)  # type: ignore[arg-type]

    def hear(self, what: str, frm: str, packet: bytes, now: Now) -> None:
        handler = self._handlers.get(what)
        if handler is not None:
            handler(frm, packet, now)
        while self._soon:
            self._soon.pop(0)()

    def next_wake(self) -> int | None:
        return min((when for part in self.parts if (when := part.next_wake()) is not None), default=None)

    def advance(self, now: Now) -> None:
        for part in self.parts:
            when = part.next_wake()
            if when is not None and when <= now.mono:
                part.advance(now)

    def take(self, ready: Ready, now: Now, settle: Callable[[], None]) -> list[OutgoingPacket]:
        """Return the packets that the parts send. `settle` handles their results, and the parts may be ready again."""
        for _ in range(_TURNS):
            self._ready = False
            for part in self.parts:
                output = part.process(ready, now)
                self.packets += output.packets
                self.left += [told.store_id for told in output.events if isinstance(told, StoreLeft)]
            ready = _NOTHING
            settle()
            if not self._ready:
                break
        packets, self.packets = self.packets, []
        return packets


class Shelf:
    """`ArchiveReader` over the disk of a simulated node: what it has committed, and nothing else."""

    def __init__(self, companion: Companion) -> None:
        self._companion = companion

    def by_id(self, channel: str, message_id: str) -> ArchivedMessage | None:
        row = self._companion.node.store.history.row(message_id)
        if row is None:
            return None
        return ArchivedMessage(self._place(message_id), row.entry.lamport, message_id, row.raw)

    def at(self, channel: str, place: int) -> ArchivedMessage | None:
        places = self._companion.node.store.places  # type: ignore[attr-defined]
        return self.by_id(channel, places[place]) if place < len(places) else None

    def place_of(self, channel: str, message_id: str) -> int | None:
        return None if self.by_id(channel, message_id) is None else self._place(message_id)

    def page(self, channel: str, span: ArchiveRange) -> tuple[list[ArchivedMessage], bool]:
        dated = self._companion.keys(LogKey(span.low, ""), LogKey(span.high + 1, ""), -1)
        keys = [key for key in dated if _beyond(key, span)]
        if span.newest_first:
            keys.reverse()
        found: list[ArchivedMessage] = []
        size = 0
        for key in keys:
            kept = self.by_id(channel, key[1])
            assert kept is not None
            size += len(kept.raw)
            if len(found) == span.limit or (size > span.max_bytes and found):
                return found, True
            found.append(kept)
        return found, False

    def _place(self, message_id: str) -> int:
        return self._companion.node.store.place(message_id)  # type: ignore[attr-defined,no-any-return]


def _beyond(key: tuple[int, str], span: ArchiveRange) -> bool:
    return span.after is None or (key < span.after if span.newest_first else key > span.after)
