"""Every interleaving of a small group: `python -m tests.timber.model --members 3 --writes 3 --states 1000000`.

A state says which operations each member holds. From each one, a member that has writes left writes (an invitation, a
post, or nothing; with what it has to say on a ballot), or takes what another one holds: all of it, or the oldest
operation alone. What is not taken is lost, or late; who takes nothing is silent, and may return at any time. Outcomes
follow from the set that is held, so each set is worked out once.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from typing import NamedTuple

from sdschat.timber.events import Settled
from sdschat.timber.intake import OperationIntake
from sdschat.timber.replica import Replica
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import EventBody, Kind, Operation, SignedEvent, operation_id
from sdschat.timber.voting import statements
from tests.timber.world import genesis, key_of, signed_event, signed_operation, verify

Held = frozenset[int]
ROUNDS = 1  # of silence, so that small runs reach a removal


class Broken(AssertionError):
    """A rule does not hold."""


class Outcome(NamedTuple):
    """The consequences of a set of operations."""

    prefix: tuple[bytes, ...]
    events: tuple[tuple[int, int], ...]  # that had their effect, in order
    members: tuple[int, ...]
    closed: tuple[tuple[int, int], ...]


class Found(NamedTuple):
    states: int
    transitions: int
    sets: int
    removals: int  # sets in which somebody was removed
    complete: bool


class Model:
    def __init__(self, members: int, writes: int, *, gathered: bool = False) -> None:
        """`gathered`: all are members and electors at the start, so that a removal is near."""
        self.members, self.writes, self.gathered = members, writes, gathered
        self.data_set, first = genesis(key_of(0))
        self.operations: list[Operation] = [first]
        self.ids: dict[bytes, int] = {self.data_set: 0}
        self.outcomes: dict[Held, Outcome] = {}
        self.written: dict[tuple[Held, int, str], int | None] = {}
        self.pasts: dict[int, Held] = {0: frozenset((0,))}
        self.before: list[int] = [0] * members
        self.removals: dict[tuple[int, int], int] = {}

    def replica(self, held: Held) -> tuple[Replica, Outcome]:
        replica = Replica()
        intake = OperationIntake(replica, self.data_set, verify, lambda node: None)
        event = self.operations[0].body.event
        assert event is not None
        replica.found(TreeNode(self.data_set, self.operations[0]), event.body.key)
        for number in sorted(held - {0}):
            intake.receive(self.operations[number])
        if intake.refused and any(one.reason != "removed" for one in intake.refused):
            raise Broken(f"an operation is refused: {intake.refused[0].reason}")
        passed = [change for change in replica.changes if isinstance(change, Settled)]
        events = [one.node.operation.body.event for one in passed if one.counts]
        outcome = Outcome(
            tuple(one.node.id for one in passed),
            tuple((one.body.author, one.body.number) for one in events if one is not None),
            tuple(sorted(replica.committee.open)),
            tuple((slot.number, slot.last) for slot in replica.committee.slots if slot.last is not None),
        )
        return replica, outcome

    def outcome(self, held: Held) -> Outcome:
        if held not in self.outcomes:
            self.outcomes[held] = self.replica(held)[1]
            for slot, last in self.outcomes[held].closed:
                if self.removals.setdefault((slot, 0), last) != last:
                    raise Broken("a membership ended at two places")
        return self.outcomes[held]

    def write(self, held: Held, member: int, kind: str) -> int | None:
        """Return the operation that a member writes, which is the same for the same set."""
        key = (held, member, kind)
        if key not in self.written:
            self.written[key] = self._write(held, member, kind)
        return self.written[key]

    def _write(self, held: Held, member: int, kind: str) -> int | None:
        replica, _ = self.replica(held)
        slot = replica.committee.slot_of(key_of(member))
        if slot is None:
            return None
        replica.me = slot.number
        replica.fresh = {one.number for one in replica.committee.slots if one is not slot}
        event: SignedEvent | None = None
        number = sum(self.operations[one].body.event is not None for one in slot_operations(self, held, slot.number))
        if kind == "invite":
            wanted = next((n for n in range(1, self.members) if not replica.committee.lives.get(key_of(n))), None)
            if member or wanted is None or key_of(wanted) in replica.front.invitations:
                return None
            body = EventBody(Kind.INVITE, slot.number, number + 1, key=key_of(wanted))
            event = signed_event(self.data_set, key_of(member), body)
        elif kind == "say":
            event = signed_event(self.data_set, key_of(member), EventBody(Kind.SAY, slot.number, number + 1, 0, "x"))
        draft = replica.draft(event, statements(replica, ROUNDS))
        operation = signed_operation(self.data_set, key_of(member), draft)
        name = operation_id(self.data_set, operation.raw)
        if name not in self.ids:
            self.ids[name] = len(self.operations)
            self.operations.append(operation)
            self.pasts[self.ids[name]] = held | {self.ids[name]}
        return self.ids[name]

    def search(self, limit: int) -> Found:
        first: tuple[Held, ...] = tuple(frozenset((0,)) for _ in range(self.members))
        if self.gathered:
            first = self._gather(first[0])
        self.before = [len(slot_operations(self, first[member], member)) for member in range(self.members)]
        seen = {first}
        todo = deque([first])
        transitions = 0
        while todo and len(seen) < limit:
            state = todo.pop() if self.gathered else todo.popleft()
            for member, held in self._next(state):
                transitions += 1
                self._check(state, member, held)
                after = (*state[:member], held, *state[member + 1 :])
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
        removed = sum(bool(one.closed) for one in self.outcomes.values())
        return Found(len(seen), transitions, len(self.outcomes), removed, not todo)

    def _gather(self, held: Held) -> tuple[Held, ...]:
        """Let the creator invite everybody, and all write in turn until they are the electors."""
        for _ in range(20):
            for member in range(self.members):
                operation = self.write(held, member, "invite")
                operation = self.write(held, member, "empty") if operation is None else operation
                held = held if operation is None else held | {operation}
                replica, _ = self.replica(held)
                if len(replica.voters()) == self.members and replica.turn.idle:
                    return (held,) * self.members
        raise Broken("they do not become electors")

    def _next(self, state: tuple[Held, ...]) -> list[tuple[int, Held]]:
        found: list[tuple[int, Held]] = []
        for member, held in enumerate(state):
            mine = len(slot_operations(self, held, member)) - self.before[member]
            if mine < self.writes:
                kinds = ("say",) if self.gathered and member == self.members - 1 else ("empty",)
                for kind in kinds if self.gathered else ("invite", "say", "empty"):
                    operation = self.write(held, member, kind)
                    if operation is not None:
                        found.append((member, held | {operation}))
            for other in state:
                lacking = other - held
                if lacking:
                    found.append((member, held | other))
                    if not self.gathered:
                        found.append((member, held | self.pasts[min(lacking)]))
        return found

    def _check(self, state: tuple[Held, ...], member: int, held: Held) -> None:
        now, before = self.outcome(held), self.outcome(state[member])
        if now.prefix[: len(before.prefix)] != before.prefix:
            raise Broken("a checkpoint went back")
        if now.events[: len(before.events)] != before.events:
            raise Broken("an effect was taken back")
        if len(set(now.events)) != len(now.events):
            raise Broken("an event had its effect twice")
        for other in state:
            theirs = self.outcome(other)
            common = min(len(theirs.prefix), len(now.prefix))
            if theirs.prefix[:common] != now.prefix[:common]:
                raise Broken("checkpoints are not prefixes of one another")


def slot_operations(model: Model, held: Held, slot: int) -> list[int]:
    """Return the operations of a slot in a set."""
    return [one for one in held if model.operations[one].body.slot == slot]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Every interleaving of a small group.")
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--writes", type=int, default=4)
    parser.add_argument("--gathered", action="store_true", help="all are members at the start")
    parser.add_argument("--states", type=int, default=1_000_000)
    options = parser.parse_args(argv)
    found = Model(options.members, options.writes, gathered=options.gathered).search(options.states)
    whole = "all" if found.complete else "the first"
    print(f"{whole} {found.states} states, {found.transitions} transitions, {found.sets} sets of operations held")
    print(f"{found.removals} sets in which somebody was removed; every rule held")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
