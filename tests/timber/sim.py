"""A simulator of members over a bad network: `python -m tests.timber.sim --seeds N --first M`.

2 to 7 members with the real engine and codec: loss, duplication, reordering, partitions that move, crashes between any
two steps with loss of what was not written, wall clocks that are wrong, members that go silent and come back, posts,
edits, deletions, invitations, leaves, compaction at different times. Every tenth run has one that cheats, and
every tenth one that lies on ballots.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from heapq import heappop, heappush
from typing import Final

from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import CheckpointMoved, EventSettled, Forked, MemberChanged, Rejected, Rewritten
from sdschat.timber.front import FrontChat
from sdschat.timber.memory import MemoryStore
from sdschat.timber.values import (
    Message,
    Now,
    Operation,
    Packet,
    Post,
    PostId,
    Reason,
    Refusal,
    Statements,
    StatePage,
    Sync,
    member_id,
    operation_bytes,
)
from tests.timber.defects import nobody_checks
from tests.timber.group import LARGEST
from tests.timber.liar import random_lie
from tests.timber.world import CODEC, key_of, sign_with, verify

SECOND: Final = 1000
TALK: Final = 240 * SECOND
HEAL: Final = 400 * SECOND
QUIET: Final = 60 * SECOND
KEPT: Final = 4000  # packets that are sent again
CHEATS: Final = ("fork", "clock", "withhold")
MINE_TO_EXPECT: Final = {
    Reason.STRANGER,
    Reason.REMOVED,
    Reason.MISROUTED,
    Reason.OTHER_STATE,
    Reason.BUFFER_FULL,
    Reason.NOT_AUTHOR,
}
_EVERY: Final = 5  # one text of so many is long: some of them exceed a packet
_LONG: Final = 6_000


class Broken(AssertionError):
    """A rule does not hold."""


class Member:
    """One node: an engine, its disk, and its clock."""

    def __init__(self, number: int, config: Config, rng: random.Random) -> None:
        self.number, self.config = number, config
        self.key = key_of(number)
        self.id = member_id(self.key)
        self.store = MemoryStore()
        self.offset = rng.choice([0, 0, rng.randint(-(10**9), 10**9)])
        self.up = True
        self.cheat = ""
        self.settled: Counter[PostId] = Counter()
        self.mark = 0
        self.joins: tuple[bytes, list[bytes]] | None = None  # data set and contacts
        self.engine = self.boot(0)

    def now(self, time: int) -> Now:
        return Now(1_700_000_000_000 + self.offset + time, time)

    def boot(self, time: int) -> TimberEngine:
        identity = Signer(self.key, sign_with(self.key))
        snapshot = self.store.snapshot(late=self.number % 2 == 0)
        self.engine = TimberEngine(
            self.config, identity, CODEC, verify, self.now(time), snapshot if self.store.rows else None
        )
        if self.joins is not None and not self.engine.data_set:
            self.engine.join(*self.joins, self.now(time))  # the program goes on with what it was told to do
        return self.engine


class World:
    def __init__(self, seed: int, *, replayed: bool = False) -> None:
        """`replayed`: somebody who hears all packets sends old ones again, to anybody, until all is healed."""
        self.seed = seed
        self.replayer = random.Random(f"replayer {seed}") if replayed else None
        self.heard: list[tuple[int, Packet]] = []  # with their senders
        self.rng = rng = random.Random(f"timber {seed}")
        self.time = 0
        self.loss = rng.choice([0.0, 0.05, 0.2, 0.4])
        self.twice = rng.choice([0.0, 0.1])
        self.delay = rng.choice([5, 200, 2000])
        count = rng.randint(2, 7)
        self.members = [Member(number, self._config(), rng) for number in range(count)]
        self.by_id = {member.id: member for member in self.members}
        self.groups = [set(range(count))]
        self.queue: list[tuple[int, int, int, Packet]] = []
        self.sent = 0
        self.marks: dict[int, bytes] = {}
        self.said: dict[PostId, int] = {}
        self.named: set[str] = set()
        self.facts: Counter[str] = Counter()
        if seed % 10 >= 8 and count > 2:
            self.members[rng.randrange(1, count)].cheat = rng.choice(CHEATS) if seed % 10 == 9 else "ballot"

    def _config(self) -> Config:
        return Config(
            rounds=2,
            heartbeat=2 * SECOND,
            redundancy=self.rng.choice([1, 2, 3]),
            stagger=300,
            retry=3 * SECOND,
            sync_interval=3 * SECOND,
            compact_after=self.rng.choice([1, 5, 64]),
        )

    @property
    def honest(self) -> bool:
        return not any(member.cheat for member in self.members)

    # Time and network.

    def run(self, until: int, act: float) -> None:
        while self.time < until:
            self.time += 100
            while self.queue and self.queue[0][0] <= self.time:
                _, _, sender, packet = heappop(self.queue)
                self._arrive(sender, packet)
            for member in self.members:
                if not member.up:
                    continue
                wake = member.engine.next_wake()
                if wake is not None and wake <= self.time:
                    member.engine.advance(member.now(self.time))
                    self.carry(member)
                if member.cheat == "ballot" and self.rng.random() < 0.003:  # of what follows a lie, others take nothing
                    self._lie(member)
            if act:
                self._act(act)
                self._replay()

    def _replay(self) -> None:
        """Let old packets arrive again, some of them elsewhere: an envelope proves its sender, and no more."""
        rng = self.replayer
        if rng is None or not self.heard:
            return
        for _ in range(rng.randrange(4)):
            sender, packet = rng.choice(self.heard)
            if rng.random() < 0.3:
                packet = packet._replace(peer=rng.choice(self.members).id)
            if packet.peer != self.members[sender].id:
                self._arrive(sender, packet)
                self.facts["sent again"] += 1

    def _arrive(self, sender: int, packet: Packet) -> None:
        member = self.by_id[packet.peer]
        together = any(sender in group and member.number in group for group in self.groups)
        if not member.up or not together or self.rng.random() < self.loss:
            return
        raw = CODEC.encode(packet.message)
        if len(raw) > LARGEST:
            raise Broken(f"a packet of {len(raw)} bytes, which no transport takes")
        decoded: Message | Refusal = CODEC.decode(raw)
        if self.rng.random() < 0.002:  # noise
            raw = raw[: self.rng.randrange(len(raw))]
            decoded = CODEC.decode(raw)
        member.engine.receive(self.members[sender].id, decoded, member.now(self.time))
        self.carry(member)

    def carry(self, member: Member) -> None:
        """Carry out what an engine wants, or lose it by a crash in between."""
        rng = self.rng
        dies = rng.random() < 0.001 and self.loss > 0
        ready = member.engine.take()
        if dies and rng.random() < 0.5:
            self._crash(member)
            return
        member.store.apply(ready.writes)
        for packet in ready.packets:
            if dies and rng.random() < 0.5:
                break
            self._send(member, packet)
        for report in ready.events:
            self._heard(member, report)
        if any(isinstance(report, CheckpointMoved) for report in ready.events):
            self._check_settled(member)
        if dies:
            self._crash(member)

    def _crash(self, member: Member) -> None:
        self.facts["crashes"] += 1
        member.boot(self.time)

    def _send(self, member: Member, packet: Packet) -> None:
        if member.cheat == "ballot" and isinstance(packet.message, StatePage):
            return  # what it holds has its lies in it, and a state is taken at the word of its giver
        packet = self._cheated(member, packet)
        self.sent += 1
        if self.replayer is not None and len(self.heard) < KEPT:
            self.heard.append((member.number, packet))
        elif self.replayer is not None:
            self.heard[self.replayer.randrange(KEPT)] = member.number, packet
        for _ in range(1 + (self.rng.random() < self.twice)):
            arrival = self.time + self.rng.randint(1, self.delay)
            heappush(self.queue, (arrival, self.rng.getrandbits(40), member.number, packet))

    def _cheated(self, member: Member, packet: Packet) -> Packet:
        """Return the packet as a cheating member sends it: some of its peers get another story, or, of what it
        withholds, in every second run all of them."""
        message = packet.message
        spared = self.by_id[packet.peer].number % 2 and not (member.cheat == "withhold" and self.seed % 20 == 19)
        if member.cheat in ("", "ballot") or not isinstance(message, Sync) or spared:
            return packet
        changed: list[Operation] = []
        for operation in message.operations:
            body = operation.body
            if body.slot != member.engine.me or body.seq % 4:
                changed.append(operation)
                continue
            if member.cheat == "withhold":
                continue
            if member.cheat == "fork":
                body = body._replace(event=None, closed=0, statements=Statements())
            elif member.cheat == "clock":
                body = body._replace(delta=tuple((slot, seq + 1) for slot, seq in body.delta))
            raw = CODEC.encode_operation(body)
            data_set = member.engine.data_set
            changed.append(Operation(body, raw, sign_with(member.key)(operation_bytes(data_set, raw))))
        return Packet(packet.peer, message._replace(operations=tuple(changed)))

    def _lie(self, member: Member) -> None:
        """Let a cheating member write, to all, what it may not say on a ballot."""
        core = member.engine._core
        if core.replica.me is None:
            return
        with nobody_checks():
            core.write(None, random_lie(self.rng, core.replica))
        member.engine.advance(member.now(self.time))
        self.carry(member)

    # Oracles.

    def _heard(self, member: Member, report: object) -> None:
        if isinstance(report, CheckpointMoved):
            number, mark = report.mark
            if not member.cheat and self.marks.setdefault(number, mark) != mark:
                raise Broken("checkpoints are not prefixes of one another")
            if number < member.mark:
                raise Broken("a checkpoint went back")
            member.mark = number
            self.facts["settled"] = max(self.facts["settled"], number)
        elif isinstance(report, EventSettled):
            member.settled[report.name] += report.counts
            if member.settled[report.name] > 1:
                raise Broken("an event had its effect twice")
        elif isinstance(report, Rejected):
            if self.honest and report.reason not in MINE_TO_EXPECT | {Reason.UNREADABLE, Reason.MALFORMED}:
                raise Broken(f"honest members refused each other: {report.reason} {report.detail}")
            self.named.add(report.reason)
        elif isinstance(report, Forked):
            self.named.add("forked")
        elif isinstance(report, Rewritten):
            self.facts["rewritten"] += 1
        elif isinstance(report, MemberChanged):
            self.facts[report.status] += 1

    def _check_settled(self, member: Member) -> None:
        """Look at what a member is told of its posts: only what all members have, as it reads, is settled."""
        engine = member.engine
        self._check_front(member)
        if not self.honest or engine.me is None:
            return
        others = [self.by_id[one.member].engine for one in engine.members()]
        others = [other for other, one in zip(others, engine.members(), strict=True) if other.me == one.slot]
        for post, settled in engine.posts():
            if not engine.same_person(post.name.author, engine.me):
                continue
            self.facts["edited and not settled"] += bool(post.edit) and not settled
            if (engine.delivery(post.name).word == "settled") is not settled:
                raise Broken("a post is told as settled, and its newest change is not")
            if settled and any(not self._has(other, post) for other in others):
                raise Broken("a post is told as settled that a member does not have")

    @staticmethod
    def _check_front(member: Member) -> None:
        """Compare the chat in front of the checkpoint, which is kept up, with one that is made anew."""
        core = member.engine._core
        anew = FrontChat(core.replica, core.where, lambda: [core.own[name].event for name in sorted(core.own)])
        kept = core.front.layer
        if (kept.posts, kept.gone) != (anew.layer.posts, anew.layer.gone):
            raise Broken("the chat in front of the checkpoint is another one where it is made anew")

    @staticmethod
    def _has(engine: TimberEngine, post: Post) -> bool:
        """True if a replica holds a post, and the change that it shows."""
        names = [post.name]
        if post.edit:
            slots = range(len(engine._core.replica.committee.slots))
            names += (PostId(slot, post.edit) for slot in slots if engine.same_person(slot, post.name.author))
        known = [engine._core.known(name) for name in names]
        return known[0] and (not post.edit or any(known[1:]))

    # Life.

    def start(self) -> None:
        first, *others = self.members
        data_set = b""
        while not first.engine.data_set:  # a crash may come before it is saved
            data_set = first.engine.found(b"%d" % self.seed, first.now(0))
            self.carry(first)
        for member in others:
            member.joins = (data_set, [one.id for one in self.members if one is not member])
            member.engine.join(*member.joins, member.now(0))
            self.carry(member)
            first.engine.invite(member.key, first.now(0))
            self.carry(first)

    def _act(self, rate: float) -> None:
        rng = self.rng
        chance = rng.random()
        if chance < 0.004:
            self.groups = [set() for _ in range(rng.choice([1, 2, 2, 3]))]
            for member in self.members:
                rng.choice(self.groups).add(member.number)
        elif chance < 0.006:
            member = rng.choice(self.members)
            member.up = not member.up
            if member.up:
                member.boot(self.time)
        if rng.random() < rate:
            self._talk(rng.choice(self.members))

    def _talk(self, member: Member) -> None:
        rng, engine, now = self.rng, member.engine, member.now(self.time)
        if not member.up or not engine.data_set:
            return
        kind = rng.random()
        mine = [view.post.name for view in engine.posts() if view.post.name.author == engine.me] if kind > 0.6 else []
        name: PostId | None = None
        if kind > 0.8 and mine:
            engine.delete(rng.choice(mine), now)
        elif kind > 0.6 and mine:
            engine.edit(rng.choice(mine), "changed", now)
        elif kind > 0.5 and engine.me is not None:
            inside = {one.key for one in engine.members()}
            outside = [one.key for one in self.members if one.key not in inside and not one.cheat]
            try:
                if outside:
                    engine.invite(rng.choice(outside), now)
            except ValueError:
                self.facts["invited already"] += 1
        else:
            long = " at length" * _LONG if not len(self.said) % _EVERY else ""
            name = engine.say(f"{member.number} says {len(self.said)}{long}", now)
        if name is not None:
            self.said[name] = member.number
        self.carry(member)

    def end(self) -> None:
        """Heal everything, and look at what is left."""
        self.groups = [set(range(len(self.members)))]
        self.loss = self.twice = 0.0
        for member in self.members:
            if not member.up:
                member.up = True
                member.boot(self.time)
        self.run(self.time + HEAL, 0)
        for _ in range(2):
            for member in self.members:
                if member.engine.me is not None:
                    self._say_again(member)
            self.run(self.time + QUIET, 0)
        if self.honest or any(member.cheat == "ballot" for member in self.members):
            self._check_end()
        before = self.sent
        self.run(self.time + QUIET, 0)
        allowed = 4 * len(self.members) * QUIET // (3 * SECOND) + 400 * (not self.honest) + 10 * len(self.members) ** 2
        if self.sent - before > allowed:
            raise Broken(f"{self.sent - before} packets in a quiet room, {allowed} allowed")

    def misses_withheld(self) -> int:
        """Return how many honest members know what a member who withholds operations keeps back."""
        slots = {member.engine.me for member in self.members if member.cheat == "withhold"}
        honest = (member for member in self.members if not member.cheat and member.up)
        return sum(any(one.slot in slots for one in member.engine.missing()) for member in honest)

    def _say_again(self, member: Member) -> None:
        name = member.engine.say("the end", member.now(self.time))
        if name is not None:
            self.said[name] = member.number
        self.carry(member)

    def _check_end(self) -> None:
        inside = [member for member in self.members if member.engine.me is not None and not member.cheat]
        if not inside:
            raise Broken("nobody is a member")
        best = max(inside, key=lambda member: member.engine.checkpoint.number)
        open_now = best.engine.members()
        gone = [one for one in open_now if self.by_id[one.member].engine.me != one.slot]
        replica = best.engine._core.replica
        able = {member.engine.me for member in inside} & replica.voters()
        if 2 * len(gone) >= len(open_now) or 2 * len(able) <= len(replica.voters()):
            self.facts["no majority"] += 1
            return
        views = [view.post for view in best.engine.posts()]
        for member in inside:
            if [view.post for view in member.engine.posts()] != views:
                raise Broken("members show different posts")
        slots = {one.slot for one in open_now}
        lost = [name for name in self.said if name.author in slots and not best.settled[name] and name[1] > 0]
        lost = [name for name in lost if best.engine.delivery(name).word not in ("settled", "known", "written")]
        if lost:
            raise Broken(f"{len(lost)} events of members in good standing are lost")
        if any(member.engine.missing() for member in inside):
            raise Broken("an operation is missing where nobody keeps one back")
        if best.engine.waiting_for() and best.engine.checkpoint.number < 3:
            raise Broken("the checkpoint stands still")


def outcome(seed: int, *, replayed: bool = False) -> tuple[str, Counter[str]]:
    world = World(seed, replayed=replayed)
    try:
        world.start()
        world.run(TALK, world.rng.choice([0.02, 0.05, 0.15]))
        world.facts["members that knew what was withheld"] += world.misses_withheld()
        world.end()
        cheat = next((member.cheat for member in world.members if member.cheat), "")
        if cheat:
            world.facts[f"cheat {cheat}: " + ", ".join(sorted(world.named - {str(one) for one in MINE_TO_EXPECT}))] += 1
    except Broken as error:
        return str(error), world.facts
    except (AssertionError, KeyError, IndexError, ValueError, RecursionError, AttributeError) as error:
        return f"{type(error).__name__}: {error}", world.facts
    return "", world.facts


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Members of a Timber data set over a bad network.")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--replayed", action="store_true", help="somebody sends old packets again")
    options = parser.parse_args(argv)
    facts: Counter[str] = Counter()
    broken: defaultdict[str, list[int]] = defaultdict(list)
    for seed in range(options.first, options.first + options.seeds):
        problem, found = outcome(seed, replayed=options.replayed)
        facts += found
        if problem:
            broken[problem].append(seed)
    print(f"{options.seeds} runs: " + ", ".join(f"{count} {name}" for name, count in sorted(facts.items())))
    for problem, seeds in broken.items():
        print(f"{len(seeds)} runs: {problem}: seeds {seeds[:5]}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
