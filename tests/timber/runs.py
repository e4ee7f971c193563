"""Random runs of replicas without a network: `python -m tests.timber.runs --seeds N --first M`.

`--members 50` makes groups of that size, all members from the start. With `--restless` members of small groups leave
often, and are let in again. With `--by-state` whoever is outside gets nothing but states.

Groups of 2 to 7: partitions of every shape, members that sleep and come back or crash for good, invitations, leaves,
posts, edits, deletions, handing over in part, compaction at random, restarts from a state. At every step the rules of
`Judge` must hold; at the end whoever is alive must agree, and go on settling where a majority is alive.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections import Counter, defaultdict
from typing import Final

from sdschat.timber.values import Kind, PostId, Reason, SignedEvent
from tests.timber.race import race
from tests.timber.world import Broken, Participant, genesis, key_of

ALLOWED: Final = {Reason.REMOVED}  # what honest members may be refused for
HEALING_TURNS: Final = 34
RACERS: Final = 5
MOST_PAIRS: Final = 7  # replicas of which each hands over to each other; in larger groups, each to the next


class Judge:
    """Rules that hold at every step, for all replicas together."""

    def __init__(self) -> None:
        self.prefix: list[bytes] = []  # the longest seen
        self.counted: list[PostId] = []
        self.closed: dict[int, tuple[int, str]] = {}
        self.lengths: defaultdict[int, int] = defaultdict(int)
        self.seen: dict[tuple[tuple[int, int], ...], tuple[object, ...]] = {}

    def look(self, one: Participant) -> None:
        common = min(len(one.prefix), len(self.prefix))
        if one.prefix[:common] != self.prefix[:common]:
            raise Broken("checkpoints are not prefixes of one another")
        if len(one.prefix) < self.lengths[one.name]:
            raise Broken("a checkpoint went back")
        self.lengths[one.name] = len(one.prefix)
        if len(one.prefix) > len(self.prefix):
            self.prefix, self.counted = list(one.prefix), list(one.counted)
        if one.counted != self.counted[: len(one.counted)]:
            raise Broken("the same history had other effects")
        if len(set(one.counted)) != len(one.counted):
            raise Broken("an event had its effect twice")
        replica = one.replica
        if replica.mark.number != len(one.prefix):
            raise Broken("the checkpoint's number is not its length")
        for slot in replica.committee.slots:
            if slot.last is not None and self.closed.setdefault(slot.number, (slot.last, slot.why)) != (
                slot.last,
                slot.why,
            ):
                raise Broken("a membership ended at two places")
        wrong = [refused.reason for refused in one.intake.refused if refused.reason not in ALLOWED]
        if wrong:
            raise Broken(f"refused: {wrong[0]}")
        one.intake.refused.clear()
        self._same_set(one)

    def _same_set(self, one: Participant) -> None:
        """Equal sets of operations give equal checkpoints, committees and turns, whatever the way there."""
        replica = one.replica
        held = tuple(sorted(replica.clock().items()))
        posts = tuple(sorted(replica.chat.posts))
        slots = replica.committee.slots
        clocks = tuple((one, tuple(sorted(slots[one].clock.items()))) for one in sorted(replica.committee.open))
        here = (replica.mark, clocks, replica.turn.number, replica.turn.electors, posts)
        if self.seen.setdefault(held, here) != here:
            raise Broken("equal sets of operations have different outcomes")


class Run:
    """One random run."""

    def __init__(
        self,
        seed: int,
        *,
        compact: bool = True,
        steps: int = 120,
        members: int = 0,
        restless: bool = False,
        by_state: bool = False,
    ) -> None:
        """`members`: the size of the group; 0 for one at random. `restless`: members leave often. `by_state`: so do
        they, and whoever is outside gets nothing but states, which members give without compacting where they can."""
        self.seed, self.steps = seed, steps + 5 * members
        self.rng = rng = random.Random(seed)
        self.count = members or (rng.randint(3 - by_state, 5) if restless or by_state else rng.randint(2, 7))
        data_set, first = genesis(key_of(0), seed)
        self.all = [Participant(number, data_set, first) for number in range(self.count)]
        self.compact = compact
        self.judge = Judge()
        self.groups = [set(range(self.count))]
        self.sleepy = rng.random() < 0.5
        self.stormy = rng.random() < 0.6 or members > 0  # all are members from the start, and partitions move often
        self.leaving = rng.random() < 0.3 or restless or by_state
        self.leave_until = 0.45 if restless or by_state else 0.39  # in `_event`
        self.by_state = by_state
        self.compact_chance = rng.choice([0.0, 0.02, 0.3, 1.0]) if by_state else 0.3
        self.dead: set[int] = set()
        self.crash_at = rng.randint(30, 90) if rng.random() < 0.5 else steps + 1
        self.said: dict[PostId, int] = {}
        self.events: list[SignedEvent] = []
        self.facts: Counter[str] = Counter()

    def go(self) -> Counter[str]:
        if self.stormy:
            self._gather()
            if self.count == RACERS and self.seed % 3 == 0:
                self.facts["races"] += race(self.rng.sample(self.all, RACERS))
                self._judge(self.all)
        for step in range(self.steps):
            self._step(step)
        self._heal()
        return self.facts

    def _gather(self) -> None:
        creator = self.all[0]
        for number in range(1, self.count):
            creator.write(creator.event(Kind.INVITE, key=key_of(number)))
        for _ in range(self.count + 2 if self.count <= MOST_PAIRS else 3):
            self._exchange(self.all)

    def _exchange(self, group: list[Participant]) -> None:
        """Let each write, and all take in what all have."""
        if len(group) <= MOST_PAIRS:
            for one in group:
                one.write()
                for other in group:
                    if other is not one:
                        other.take_from(one)
                self._judge(group)
            return
        for one, following in zip(group, [*group[1:], group[0]], strict=True):
            one.write()
            following.take_from(one)
        for one, following in itertools.pairwise(group):
            following.take_from(one)
        self._judge(group)

    def _judge(self, group: list[Participant]) -> None:
        for one in group:
            self.judge.look(one)

    def _step(self, step: int) -> None:
        rng = self.rng
        chance = rng.random()
        if chance < (0.12 if self.stormy else 0.06):
            self.groups = [set() for _ in range(rng.choice([1, 2, 2, 3]))]
            for number in range(self.count):
                rng.choice(self.groups).add(number)
        elif chance > 0.97:
            self.groups = [set(range(self.count))]
        if step == self.crash_at:
            members = sorted(n for n in range(self.count) if self.all[0].replica.committee.slot_of(key_of(n)))
            self.dead = set(rng.sample(members, (len(members) - 1) // 2)) if members else set()
        one = rng.randrange(self.count)
        other = rng.choice(sorted(next(group for group in self.groups if one in group)))
        if self._away(one, step):
            return
        if rng.random() < 0.6:
            event = self._event(self.all[one])
            if event is not None:
                self.events.append(event)
            elif self.events and rng.random() < 0.2:
                event = rng.choice(self.events[-5:])  # a second member writes it too
                known = len(self.all[one].replica.committee.slots)
                event = event if event.body.kind is Kind.SAY and event.body.author < known else None
            self.all[one].write(event)
        if other != one and not self._away(other, step):
            self._hand(self.all[one], self.all[other])
            if not self.stormy or rng.random() < 0.5:
                self._hand(self.all[other], self.all[one])
        for number in (one, other):
            if self.compact and rng.random() < self.compact_chance:
                self.all[number].replica.compact()
            self.judge.look(self.all[number])

    def _hand(self, giver: Participant, taker: Participant) -> None:
        if not self.by_state or taker.replica.me is not None:
            taker.take_from(giver, self.rng)
        elif taker.may_adopt(giver):
            before = taker.replica
            taker.adopt(giver, compact=self.rng.random() < 0.5)
            self.facts["states"] += taker.replica is not before
            self.facts["states ahead"] += taker.replica is not before and taker.replica.base != giver.replica.base

    def _away(self, number: int, step: int) -> bool:
        asleep = self.sleepy and (self.seed * 31 + number * 17 + step // 25) % 5 == 0
        return asleep or number in self.dead

    def _event(self, one: Participant) -> SignedEvent | None:
        rng, replica = self.rng, one.replica
        if replica.me is None:
            return None
        chance = rng.random()
        if chance < 0.25:
            event = one.event(Kind.SAY, f"post {len(self.said)}")
            if event is not None:
                self.said[event.name] = one.name
            return event
        if chance < 0.37:
            outside = [key_of(n) for n in range(self.count) if replica.committee.slot_of(key_of(n)) is None]
            outside = [key for key in outside if key not in replica.front.invitations]
            return one.event(Kind.INVITE, key=rng.choice(outside)) if outside else None
        if chance < self.leave_until and self.leaving and len(replica.committee.open) > 2:
            return one.event(Kind.LEAVE)
        if chance < 0.48 and replica.chat.posts:
            target = rng.choice(sorted(post.name for post in replica.chat.posts))
            return one.event(rng.choice([Kind.EDIT, Kind.DELETE]), "changed", target=target)
        return None

    def _heal(self) -> None:
        living = [one for one in self.all if one.name not in self.dead]
        before = 0
        for turn in range(HEALING_TURNS):
            self._exchange(living)
            if turn == HEALING_TURNS - 10:
                before = max(len(one.prefix) for one in living)
        best = max(living, key=lambda one: len(one.prefix))
        self._check_end(best, living, before)
        slots = best.replica.committee.slots
        self.facts["slots"] += len(slots)
        self.facts["removed"] += sum(slot.why == "removed" for slot in slots)
        self.facts["left"] += sum(slot.why == "left" for slot in slots)
        self.facts["settled"] += len(best.prefix)

    def _check_end(self, best: Participant, living: list[Participant], before: int) -> None:
        replica = best.replica
        keys = {one.key for one in living}
        slots = replica.committee.slots
        alive = {one for one in replica.committee.open if slots[one].key in keys and slots[one].leaving is None}
        able = 2 * len(alive) > len(replica.committee.open) and 2 * len(alive & replica.voters()) > len(
            replica.voters()
        )
        self.facts["able"] += able
        if not able:
            return
        if len(best.prefix) <= before:
            raise Broken("a majority is alive, and the checkpoint stands still")
        for one in living:
            if one.replica.me is not None and len(one.prefix) < before:
                raise Broken("a member's checkpoint stays behind")
        counted = set(best.counted)
        for slot in replica.committee.slots:
            for seq, node in slot.chain.items():
                if slot.last is None and node.operation.body.event is not None and seq < slot.seq - 5:
                    counted.add(node.operation.body.event.name)
        self._check_lost(best, counted)

    def _check_lost(self, best: Participant, counted: set[PostId]) -> None:
        """Raise if an event of a member in good standing is in no history."""
        replica = best.replica
        for name, author in self.said.items():
            slot = replica.committee.slots[name.author] if name.author < len(replica.committee.slots) else None
            if author not in self.dead and slot is not None and slot.last is None and name not in counted:
                raise Broken("an event of a member in good standing is lost")


def outcome(seed: int, members: int = 0, *, restless: bool = False, by_state: bool = False) -> tuple[str, Counter[str]]:
    run = Run(seed, members=members, restless=restless, by_state=by_state)
    try:
        return "", run.go()
    except Broken as error:
        return str(error), run.facts
    except (AssertionError, KeyError, IndexError, ValueError, RecursionError, AttributeError) as error:
        return f"{type(error).__name__}: {error}", run.facts


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Random runs of Timber replicas.")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--members", type=int, default=0, help="the size of the groups; 2 to 7 at random without it")
    parser.add_argument("--restless", action="store_true", help="small groups whose members leave often")
    parser.add_argument("--by-state", action="store_true", help="so, and whoever is outside gets states alone")
    options = parser.parse_args(argv)
    facts: Counter[str] = Counter()
    broken: defaultdict[str, list[int]] = defaultdict(list)
    for seed in range(options.first, options.first + options.seeds):
        problem, found = outcome(seed, options.members, restless=options.restless, by_state=options.by_state)
        facts += found
        if problem:
            broken[problem].append(seed)
    print(f"{options.seeds} runs: " + ", ".join(f"{count} {name}" for name, count in sorted(facts.items())))
    for problem, seeds in broken.items():
        print(f"{len(seeds)} runs: {problem}: seeds {seeds[:5]}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
