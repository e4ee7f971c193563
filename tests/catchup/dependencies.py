"""Cost of asking for every dependency: the questions that a node asks of a Store for missing messages, when nothing
else helps it to catch up. Real engines, questions and answers; time is simulated."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

from sdschat.node.channel.extension import OutgoingPacket
from sdschat.node.channel.presence import STORE
from sdschat.node.store_client.verify import StoreReputation
from sdschat.sds.channel import Channel
from sdschat.sds.ids import content_id
from sdschat.sds.values import Append, HistoryEntry, Message, Now
from sdschat.sim.companion import MemoryLog
from sdschat.sim.node import CHANNEL
from sdschat.wire.sds_codec import SdsCodec
from tests.sim_history.booth import Booth, Shelf
from tests.sim_history.equipped import FullDisk
from tests.sim_history.people import Person

_WALL: Final = 1_700_000_000_000
_MONO: Final = 1_000_000
_PEOPLE: Final = 9  # of whose messages a part may wait for others, each


class _Side:
    """A node of two: engine, disk, and the parts that deal with Stores."""

    def __init__(self, world: Any, name: str, store: bool) -> None:
        self.person = Person(name, store, "")
        self.world = world
        self.disk = FullDisk()
        self.log = MemoryLog()
        channel = Channel(
            CHANNEL,
            self.person.address,
            codec=world.codec,
            history=self.disk.history,
            secret=name.encode(),
            now=world.now(),
        )
        plan = SimpleNamespace(name=name)
        self.node = SimpleNamespace(channel=channel, store=self.disk, boots=1, plan=plan, now=lambda _: world.now())
        self.keys = self.disk.index.keys
        self.booth = Booth(self, self.person, StoreReputation(), Shelf(self) if store else None)  # type: ignore[arg-type]

    @property
    def channel(self) -> Channel:
        found: Channel = self.node.channel
        return found

    def turn(self) -> list[OutgoingPacket]:
        ready = self.channel.take()
        posts = self.booth.take(ready, self.world.now(), lambda: None)
        self.disk.apply(ready.writes)
        self.world.delivered += sum(isinstance(write, Append) for write in ready.writes) * (not self.person.store)
        return posts


class _World:
    def __init__(self) -> None:
        self.codec = SdsCodec()
        self.scenario = SimpleNamespace(seed=1)
        self.time = self.delivered = 0

    def now(self) -> Now:
        return Now(_WALL + self.time, _MONO + self.time)


def ask_for_all(common: int, lacking: int, size: int, delay: int) -> tuple[int, float]:
    """Bytes of questions and answers, without those of the messages, and seconds until the last message is here."""
    world = _World()
    ann, bob = _Side(world, "ann", True), _Side(world, "bob", False)
    packets: list[bytes] = []
    named: list[str] = []
    for number in range(common + lacking):
        world.time += 1000
        content = (b"%d " % number).ljust(size, b".")
        history = tuple(HistoryEntry(before) for before in named)
        author, named = f"person {number % _PEOPLE}", [*named[-1:], content_id(content)]
        packets.append(
            world.codec.encode(Message(author, named[-1], CHANNEL, world.now().wall, history, None, (), content))
        )
        for side in (ann, bob) if number < common else (ann,):
            _hear(side, packets[-1])
    _hear(bob, packets[-1])
    bob.booth.presence.online = bob.booth.presence.roles = {ann.person.address: STORE}
    bob.booth.client.connected(world.now())
    began, before = world.time, world.delivered
    way: list[tuple[int, _Side, str, OutgoingPacket]] = []
    sent = 0
    while world.delivered < before + lacking:
        due = bob.booth.next_wake()
        arrivals = [way[0][0]] if way else []
        world.time = min([*arrivals, *([] if due is None else [max(due - _MONO, world.time)])])
        while way and way[0][0] <= world.time:
            _, to, frm, post = way.pop(0)
            to.booth.hear(post.what, frm, post.payload, world.now())
        bob.booth.advance(world.now())
        for side, other in ((ann, bob), (bob, ann)):
            for post in side.turn():
                sent += len(post.payload)
                way.append((world.time + delay, other, side.person.address, post))
    fetched = sum(map(len, packets[common:-1]))
    return sent - fetched, (world.time - began) / 1000


def _hear(side: _Side, packet: bytes) -> None:
    message = side.world.codec.decode(packet)
    assert isinstance(message, Message)
    side.channel.receive_message(side.world.now(), message, packet)
    side.turn()
