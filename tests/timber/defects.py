"""Rules made wrong on purpose, each of which the random runs must find: `python -m tests.timber.defects`.

Prints for each defect the first seed that finds it, and the rule that it breaks.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, cast
from unittest.mock import patch

from sdschat.timber import ballots, chat, committee, replica, tree, voting
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import Accept, Kind, Proposal, Reason, Statements, Value
from tests.timber.runs import outcome

Defect = Callable[[], Any]
R, C, T = replica.Replica, committee.Committee, ballots.Turn


def _pass_unless(slot_rule: Callable[[Any, TreeNode], bool]) -> Any:
    return patch.object(R, "_passable", slot_rule)


def majority_is_enough() -> Any:
    def passable(self: Any, node: TreeNode) -> bool:
        body = node.operation.body
        slots = self.committee.slots
        knowing = sum(slots[one].clock.get(body.slot, 0) >= body.seq for one in self.committee.open)
        return bool(2 * knowing > len(self.committee.open))

    return _pass_unless(passable)


def no_stop_rule() -> Any:
    return patch.object(T, "may_remove_before", lambda self, slot, seq: False)


def newcomers_do_not_count() -> Any:
    def named_by_all(self: Any, slot: int, seq: int) -> bool:
        wrote = [one for one in self.open if self.slots[one].seq]
        return all(self.slots[one].clock.get(slot, 0) >= seq for one in wrote)

    return patch.object(C, "named_by_all", named_by_all)


def floors_are_kept_at_admission() -> Any:
    return patch.object(C, "_forget", lambda self: None)


def siblings_by_arrival() -> Any:
    def add(self: Any, node: TreeNode, parent: TreeNode) -> None:
        node.parent = parent
        self.nodes[node.id] = node
        last = parent.children[-1].path.tail if parent.children else parent
        parent.children.append(node)
        self._insert(last, node)
        if len(parent.children) == 1:
            node.path = parent.path
            node.path.tail = node
        else:
            tree._cut(parent, parent.children[-2], node)

    return patch.object(tree.Tree, "add", add)


def runs_are_not_cut() -> Any:
    return patch.object(tree, "_cut", lambda parent, child, new: None)


def labels_are_not_spread() -> Any:
    return patch.multiple(tree, _GAP=2, _spread=lambda before: None)


@contextlib.contextmanager
def compaction_does_not_wait() -> Iterator[None]:
    """Neither for members to show that they know of all ends, nor for what names operations that do not count."""
    real = R.compact

    def compact(self: Any) -> list[TreeNode]:
        shown = [(slot, slot.closed) for slot in self.committee.slots]
        for slot, _ in shown:
            slot.closed = self.committee.ended
        try:
            return real(self)
        finally:
            for slot, closed in shown:
                slot.closed = closed

    with patch.object(R, "compact", compact), patch.object(C, "names_uncounted", lambda self, delta: False):
        yield


def everything_is_named() -> Any:
    return patch.object(C, "nameable", lambda self, slot: slot.seq)


@contextlib.contextmanager
def nobody_checks() -> Iterator[None]:
    """Everybody believes what is said on ballots, or others would refuse what follows from a planted defect."""
    with patch.object(replica, "check_statements", lambda *_: None), patch.object(T, "contradicts", lambda *_: False):
        yield


@contextlib.contextmanager
def quorum_of_a_third() -> Iterator[None]:
    with nobody_checks(), patch.object(R, "need", lambda self: max(1, len(self.voters()) // 3)):
        yield


def one_accept_decides() -> Any:
    def decided(self: Any) -> Value | None:
        return next((cast(Value, value) for _, value in sorted(self.supporters())), None)

    return patch.object(T, "decided", decided)


def own_word_counts_for_nothing() -> Any:
    def decided(self: Any) -> Value | None:
        for (_, value), by_slot in sorted(self.supporters().items()):
            gone = {slot for slot, _ in value.removed}
            needs = {slot: need for slot, need in by_slot.items() if slot not in gone}
            if ballots._enough(needs.values()):
                return cast(Value, value)
        return None

    return patch.object(T, "decided", decided)


def nothing_is_forced() -> Any:
    return patch.object(T, "forced", lambda self, ballot, voters, least: None)


@contextlib.contextmanager
def promises_are_not_kept() -> Iterator[None]:
    real = voting.statements

    def statements(one: Any, rounds: int) -> Statements:
        said = real(one, rounds)
        for ballot, proposal in sorted(one.turn.proposed.items()):
            if one.me in one.voters() and ballot not in one.turn.accepted.get(one.me, ()):
                return said._replace(accept=Accept(ballot, proposal.value, one.need()))
        return said

    with nobody_checks(), patch("tests.timber.world.statements", statements):
        yield


@contextlib.contextmanager
def proposals_without_promises() -> Iterator[None]:
    def proposal(one: Any, ballot: Any, voters: Any, rounds: int, spared: Any) -> Proposal:
        free = voting.wanted_value(one, rounds, spared)
        return Proposal(ballot, free or Value((), tuple(sorted(one.committee.open))), False)

    with nobody_checks(), patch.object(voting, "_proposal", proposal):
        yield


def electors_never_change() -> Any:
    real = voting.wanted_value

    def wanted(one: Any, rounds: int, spared: Any) -> Value | None:
        value = real(one, rounds, spared)
        return None if value is not None and not value.removed and not one.turn.open_values() else value

    return patch.object(voting, "wanted_value", wanted)


def silence_never_ends_a_membership() -> Any:
    return patch.object(C, "silent", lambda self, held, rounds: [])


def removed_are_still_waited_for() -> Any:
    def close(self: Any, slot: Any, last: int, why: str) -> None:
        slot.last, slot.why = last, why

    return patch.object(C, "close", close)


def lost_operations_count() -> Any:
    real = R._close

    def close(self: Any, slot: Any, last: int, why: str) -> None:
        real(self, slot, slot.seq if why == "removed" else last, why)

    return patch.object(R, "_close", close)


def events_count_twice() -> Any:
    return patch.object(chat.Chat, "knows", lambda self, name: False)


def invitations_count_by_their_writer() -> Any:
    def effect(self: Any, event: Any, writer: int, seq: int) -> None:
        if event.body.kind is Kind.INVITE and self.committee.slot_of(event.body.key) is not None:
            self.fresh.clear()
        real(self, event, writer, seq)

    real = R._effect
    return patch.object(R, "_effect", effect)


def newcomers_start_with_all() -> Any:
    real = C.admit

    def admit(self: Any, key: bytes, standing: Any) -> Any:
        held = {slot.number: slot.seq for slot in self.slots if slot.seq} if self.slots else standing.clock
        return real(self, key, standing._replace(clock=held) if not standing.seq else standing)

    return patch.object(C, "admit", admit)


def parents_are_not_checked_and_chosen_by_age() -> Any:
    real = R.draft

    def draft(self: Any, event: Any, said: Any) -> Any:
        body = real(self, event, said)
        node = self.tree.last
        while node.before is not None and node.operation.body.slot != self.me:
            node = node.before
        return body._replace(parent=node.id)

    return patch.object(R, "draft", draft)


def clocks_name_less() -> Any:
    real = R.draft

    def draft(self: Any, event: Any, said: Any) -> Any:
        return real(self, event, said)._replace(delta=())

    return patch.object(R, "draft", draft)


def leavers_stop_at_once() -> Any:
    real = R.check

    def check(self: Any, operation: Any) -> Any:
        body = operation.body
        slot = self.committee.slots[body.slot] if body.slot < len(self.committee.slots) else None
        if slot is not None and slot.leaving is not None and body.seq > slot.leaving:
            return Reason.AFTER_LEAVE
        return real(self, operation)

    return patch.object(R, "check", check)


DEFECTS: Final[tuple[Defect, ...]] = (
    majority_is_enough,
    no_stop_rule,
    newcomers_do_not_count,
    floors_are_kept_at_admission,
    siblings_by_arrival,
    runs_are_not_cut,
    labels_are_not_spread,
    compaction_does_not_wait,
    everything_is_named,
    quorum_of_a_third,
    one_accept_decides,
    own_word_counts_for_nothing,
    nothing_is_forced,
    promises_are_not_kept,
    proposals_without_promises,
    electors_never_change,
    silence_never_ends_a_membership,
    removed_are_still_waited_for,
    lost_operations_count,
    events_count_twice,
    invitations_count_by_their_writer,
    newcomers_start_with_all,
    parents_are_not_checked_and_chosen_by_age,
    clocks_name_less,
    leavers_stop_at_once,
)


def first_seed(defect: Defect, seeds: int, first: int = 0) -> tuple[int | None, str]:
    """Return the first seed that finds a defect, and the rule that it breaks."""
    with defect():
        for seed in range(first, first + seeds):
            problem, _ = outcome(seed)
            if problem:
                return seed, problem
    return None, ""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Planted defects, and the seeds that find them.")
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(argv)
    missed = 0
    for defect in DEFECTS:
        if options.names and defect.__name__ not in options.names:
            continue
        seed, problem = first_seed(defect, options.seeds)
        missed += seed is None
        print(f"{defect.__name__}: {'not found' if seed is None else f'seed {seed}: {problem}'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
