"""Worlds of which a transcript is kept: groups that lose packets, restart, go away and meet strangers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from sdschat.sds.config import DEMO, Config
from sdschat.sds.state import Ready
from sdschat.sds.values import HistoryEntry, Message, Now
from tests.sds.group import CODEC, START, Flight, Group, Node, forge
from tests.transcripts import Say, World

LIVELY = replace(DEMO, id_rule="text", bloom_capacity=16, lost_after=12_000, resend_max=20_000)


class Told(Group):
    """A group that says everything that its nodes make."""

    def __init__(self, say: Say, *names: str, config: Config = LIVELY) -> None:
        self.tell = say
        super().__init__(*names, config=config)

    def collect(self, name: str) -> Ready:
        ready = super().collect(name)
        if ready.packets or ready.events or ready.writes:
            wake = self.nodes[name].channel.next_wake()
            self.tell(self.now.mono - 1_000_000, name, None if wake is None else wake - self.now.mono, *ready)
        return ready


def lossy(flight: Flight) -> bool:
    """Every third packet or so is lost, always the same ones."""
    return (flight.packet.raw[-1] + flight.packet.raw[-2] + ord(flight.receiver)) % 3 != 0


def busy(config: Config) -> World:
    """Three who write, lose, restart and go away, and two strangers whose messages lack their parents."""

    def world(say: Say) -> None:
        group = Told(say, "a", "b", "c", config=config)
        group.passes = lossy
        for step in range(40):
            name = "abc"[step % 3]
            if step % 4 < 2:
                group.send(name, f"message {step}")
            group.tick(900)
            if step % 3 == 0:
                parent = f"z{step - 3}" if step % 2 else f"z{step + 99}"
                group.give("b", forge("z", f"z{step}", group.now.wall + step * 7, parent))
            if step % 7 == 3:
                group.give("c", forge("y", f"y{step}", START - 9000 + step, f"never-{step}"))
                group["a"].channel.learn_hint(group["a"].log[-1], b"hint %d" % step)
            if step % 8 == 5:
                group.crash(name)
                group.collect(name)
            if step % 11 == 6:
                group.offline(name)
            if step % 11 == 9:
                for away in "abc":
                    if not group[away].online:
                        group.online(away)
        group.passes = lambda flight: True
        group.tick(60_000)

    return world


def late(say: Say) -> None:
    """One writes alone, a second one with another clock comes, then a third; all restart in the end."""
    group = Told(say, "a")
    for step in range(6):
        group.send("a", f"alone {step}")
        group.tick(3000)
    group.add("b", skew=3000)
    group.tick(7000)
    for step in range(6):
        group.send("ab"[step % 2], f"two {step}")
        group.tick(2500)
    group.add("c", skew=-2000)
    group.tick(20_000)
    for name in "abc":
        group.send(name, f"three {name}")
        group.crash(name)
        group.collect(name)
    group.tick(60_000)


def unwelcome(say: Say) -> None:
    """Packets that are refused, deferred, of the past, of the future, and asked for."""
    group = Told(say, "a", "b")
    group.tick(2000)
    own = group.send("a", "own")
    now = group.now.wall
    for packet in (
        forge("z", "future", now + LIVELY.max_skew + 5000),
        forge("z", "further", now + 2**42),
        forge("z", "past", now - 20_000_000),
        forge("z", "older", now - 100_000, "unknown parent"),
        forge("z", "own child", now + 5, own.message_id),
        forge("a", "in the name of another", now + 6),
        forge("z", "sync", now + 7, own.message_id, content=None, requests=(own.message_id, "nobody has it")),
        forge("z", "elsewhere", now + 8, channel="another"),
        forge("z", "ephemeral", None),
        forge("z", "own child", now + 5, own.message_id),
        b"\xff",
        b"",
    ):
        group.give("a", packet)
        group.tick(300)
    group.tick(20_000)
    group.crash("a")
    group.collect("a")
    group.tick(LIVELY.max_skew)


def long(say: Say) -> None:
    """Many messages of others, so that ranges of the log are compared, and one of two has a tenth of them less."""
    group = Told(lambda *_: None, "a", "b", config=replace(LIVELY, push_delay_max=5000))
    group.tick(1000)
    for place in range(420):
        packet = forge("z", f"m{place:04}", START - 60_000 + place * 50)
        group.give("a", packet)
        if place % 10:
            group.give("b", packet)
    group.tell = say
    group.tick(90_000)


class Anything:
    """Any call of the engine at any time, as the seed says."""

    def __init__(self, say: Say, seed: int, config: Config) -> None:
        self.draw = Random(seed)
        self.group = Told(say, "a", "b", "c", config=config)
        self.group.passes = lossy
        self.made = 0

    def node(self) -> Node:
        return self.group[self.draw.choice("abc")]

    def some_id(self) -> str:
        known = sorted({message_id for node in self.group.nodes.values() for message_id in node.log[-12:]})
        return self.draw.choice([*known, f"m{self.made + 1}", f"m{max(0, self.made - 2)}"])

    def forged(self, ahead: int = 3000) -> Message:
        self.made += 1
        parents = [self.some_id() for _ in range(self.draw.randrange(3))]
        content, requests = self.draw.choice([(b"forged", ()), (b"", (self.some_id(),)), (b"more", (self.some_id(),))])
        dated = self.group.now.wall + self.draw.randrange(-20_000, ahead)
        sender = self.draw.choice("xyz")
        return forge(sender, f"m{self.made}", dated, *parents, content=content or None, requests=requests)

    def step(self) -> None:
        node, group = self.node(), self.group
        channel, now, kind = node.channel, node.shifted(group.now), self.draw.randrange(22)
        if kind < 4:
            if node.online:
                group.send(node.name, f"{self.draw.random()}")
        elif kind < 8:
            group.give(node.name, self.forged())
        elif kind == 8:
            group.give(node.name, self.forged(LIVELY.max_skew + 9000))
        elif kind == 9:
            forged = self.forged()
            channel.receive_message(now, forged, CODEC.encode(forged), unproven=True)
        elif kind == 10:
            channel.receive_id(now, self.forged())
        elif kind == 11:
            self.made += 1
            channel.receive_told(now, now.wall - self.draw.randrange(-1000, 90_000), f"m{self.made}", "x")
        elif kind == 12:
            forged = self.forged()
            channel.receive_history(now, forged, CODEC.encode(forged))
        elif kind == 13:
            self.body(node)
        elif kind == 14:
            channel.forget_bodies(now, node.log[-9:-7])
        elif kind == 15:
            self.horizon(node)
        elif kind == 16:
            channel.miss(now, HistoryEntry(self.some_id(), None, "x"))
            channel.fetch(now, self.some_id())
            channel.fetched(self.some_id())
        elif kind == 17:
            channel.resend(now, self.some_id())
            channel.heard_copy(now, self.some_id())
            channel.send_ephemeral(now, b"now")
        elif kind == 18:
            own = [message_id for _, message_id in channel.unacknowledged]
            channel.equal_range(now, self.draw.choice("xyz"), "packet", own[:2], unproven=self.draw.random() < 0.5)
        elif kind == 19:
            channel.learn_hint(self.some_id(), b"hint %d" % self.made)
        elif kind == 20:
            group.crash(node.name)
        elif node.online:
            group.offline(node.name)
        else:
            group.online(node.name)
        group.collect(node.name)

    def body(self, node: Node) -> None:
        """Give a node the body of a message that it has by its id alone, from another that has all of it."""
        for entry in node.store.history.newest(40):
            for other in self.group.nodes.values():
                row = other.store.history.row(entry.message_id)
                if entry.bare and row is not None and row.raw:
                    message = CODEC.decode(row.raw)
                    assert isinstance(message, Message)
                    node.channel.receive_body(node.shifted(self.group.now), message, row.raw, "archive")
                    return

    def horizon(self, node: Node) -> None:
        now = node.shifted(self.group.now)
        change = self.draw.choice([node.channel.lower_horizon, node.channel.raise_horizon])
        change(now, now.wall - self.draw.randrange(60_000))


def anything(seed: int, config: Config, sleeps: int) -> World:
    def world(say: Say) -> None:
        made = Anything(say, seed, config)
        for number in range(110):
            made.step()
            made.group.tick(made.draw.choice([0, 0, 1, 300, 1700, 4000]))
            if number % 40 == 39:  # all are stopped for a while
                made.group.now = Now(made.group.now.wall + sleeps, made.group.now.mono + sleeps)
                for name in "abc":
                    made.group.crash(name)
                    made.group.collect(name)
        made.group.tick(20_000)

    return world


WORLDS: Mapping[str, World] = {
    "compact": busy(LIVELY),
    "waku": busy(replace(LIVELY, bloom_layout="waku")),
    "groups": busy(replace(LIVELY, causal_history=1, num_response_groups=2, bloom_layout="compact")),
    "no_push": busy(replace(LIVELY, push_enabled=False, t_min=3000, t_max=4000)),
    "late": late,
    "unwelcome": unwelcome,
    "long": long,
    "anything_1": anything(1, LIVELY, 40_000),
    "anything_2": anything(2, replace(LIVELY, bloom_layout="compact", causal_history=3), 900_000),
    "anything_3": anything(3, replace(DEMO, id_rule="content", sync_interval=3000), 10_000),
    "anything_4": anything(4, replace(LIVELY, repair_enabled=False, push_delay_min=0, push_grace=0), 3000),
}
