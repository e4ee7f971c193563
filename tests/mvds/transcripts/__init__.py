"""Worlds of which a transcript is kept: nodes of MVDS that lose packets, restart, go away and are sent false ones."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from sdschat.mvds import Config, Metadata, Mode, Payload, Ready, Reason, Refusal
from tests.mvds.world import GROUP, OTHER_GROUP, START, Faults, Node, World, at, id_of, message
from tests.transcripts import Say
from tests.transcripts import World as Kept

NAMES = "abc"
FAST = Config(epoch=500, expire_after=6, lost_after=20_000, presence_interval=3000, backoff_max=32, backoff_low=4)


class ToldNode(Node):
    """A node that says everything that it makes."""

    def __init__(self, say: Say, name: str, config: Config) -> None:
        self.say = say
        super().__init__(name, [other for other in NAMES if other != name], config)

    def take(self) -> Ready:
        ready = super().take()
        if any(ready):
            rows = self.engine.snapshot().records
            sending = [self.engine.sending(row.peer, row.message_id) for row in rows]
            self.say(self.engine._core.wall - START.wall, self.name, self.engine.next_wake(), sending, *ready)
        return ready


class Anything:
    """Any call of an engine at any time, as the seed says."""

    def __init__(self, say: Say, seed: int, config: Config) -> None:
        self.draw = Random(seed)
        self.world = World(NAMES, config, seed)
        self.world.nodes = {name: ToldNode(say, name, config) for name in NAMES}
        self.world.faults = Faults(0.3, 0.1, 20, 1500)
        self.ids: list[bytes] = []

    def step(self) -> None:
        world, draw = self.world, self.draw
        name = draw.choice(NAMES)
        node, other = world.nodes[name], draw.choice([each for each in NAMES if each != name])
        engine, now, kind = node.engine, at(world.now), draw.randrange(16)
        if kind < 5:
            mode = draw.choice([None, Mode.BATCH, {other: Mode.BATCH}, Mode.INTERACTIVE])
            to = draw.choice([None, None, [other]])
            body = b"%d" % draw.randrange(10**6) * draw.choice([1, 1, 60])
            self.ids.append(world.send(name, body, mode=mode, to=to, ephemeral=draw.random() < 0.2))
        elif kind < 8:
            world.post(name, node.receive(other, self.payload(), world.now))
        elif kind == 8:
            node.receive(other, Refusal(Reason.UNREADABLE, "nothing to read"), world.now)
        elif kind == 9:
            node.restart(world.now)
        elif kind == 10:
            engine.cancel(self.some_id(), draw.choice([None, [other]]))
        elif kind == 11:
            engine.share(other, [self.some_id(), self.some_id()], now, mode=draw.choice(list(Mode)))
        elif kind == 12:
            engine.set_mode(other, draw.choice([None, *Mode]))
        elif kind == 13:
            engine.peer_offline(other, now)
        elif kind == 14:
            engine.peer_online(other, now)
        elif name in world.away:
            world.away.remove(name)
        else:
            world.away.add(name)
        node.take()

    def some_id(self) -> bytes:
        return self.draw.choice([*self.ids[-8:], bytes([self.draw.randrange(4)]) * 32])

    def payload(self) -> Payload:
        """Return a packet of another: acknowledgements, offers and requests of anything, and messages without their
        parents."""
        draw = self.draw
        parents = tuple(self.some_id() for _ in range(draw.randrange(3)))
        stamp = (START.wall + self.world.now + draw.randrange(-5000, 5000)) * 10**6
        group = draw.choice([GROUP, GROUP, OTHER_GROUP])
        one = message(b"false %d" % draw.randrange(99), *parents, stamp=stamp, group=group)
        if draw.random() < 0.2:
            one = one._replace(metadata=draw.choice([None, Metadata((), True)]))
        self.ids += id_of(one)
        acks, offers, requests = (tuple(self.some_id() for _ in range(draw.randrange(3))) for _ in range(3))
        return Payload(acks, offers, requests, draw.choice([(), (one,), (one, one)]))


def anything(seed: int, config: Config) -> Kept:
    def world(say: Say) -> None:
        made = Anything(say, seed, config)
        for _ in range(120):
            made.step()
            made.world.run(made.world.now + made.draw.choice([0, 50, 700, 2500]))
        made.world.away.clear()
        made.world.faults = Faults()
        made.world.run(made.world.now + 40_000)

    return world


WORLDS: Mapping[str, Kept] = {
    "fast": anything(1, FAST),
    "default": anything(2, Config()),
    "eventual": anything(3, Config(epoch=500, ordering="eventual", forward=True, timestamp_unit="ms", expire_after=3)),
    "plain": anything(4, Config(epoch=500, metadata=False, timestamp_unit="s", jitter=0, expire_after=0)),
    "small": anything(5, Config(epoch=500, packet_bytes=1024, payload_bytes=1024, fetch_parents=False, lost_after=0)),
}
