"""Rules of which no other test noticed that they were broken, by `python -m tests.mutation`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sdschat.timber.ballots import Turn
from sdschat.timber.committee import Committee, SlotState
from sdschat.timber.events import EventSettled
from sdschat.timber.limits import INBOX_PER_AUTHOR
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import (
    Accept,
    Ballot,
    EventBody,
    Kind,
    Operation,
    OperationBody,
    Reason,
    SignedEvent,
    Statements,
    Submit,
    Value,
    distance,
    event_id,
)
from tests.timber.group import Group
from tests.timber.test_liars import gathered
from tests.timber.test_state_sources import removed
from tests.timber.world import Participant, key_of, signed_event

_OURS = "alice"


def near(group: Group, name: str, number: int, *, far: bool = False) -> SignedEvent:
    """Return a post that alice is nearest to; `far`: that another member is nearest to."""
    for salt in range(1000):
        body = EventBody(Kind.SAY, 1, number, 0, f"{name} {salt}")
        event = signed_event(group.data_set, group["bob"].key, body)
        nearest = min(group.by_id, key=lambda one: distance(event_id(group.data_set, event.raw), one))
        if (nearest == group[_OURS].id) is not far:
            return event
    raise AssertionError("none is near")


def _first_event(group: Group) -> SignedEvent:
    body = EventBody(Kind.GENESIS, 1, 50, 0, "", None, group["bob"].key)
    return signed_event(group.data_set, group["bob"].key, body)


def _of_nobody(group: Group) -> SignedEvent:
    return signed_event(group.data_set, key_of(9), EventBody(Kind.SAY, 9, 1, 0, "of nobody"))


def _unsigned(group: Group) -> SignedEvent:
    return near(group, "unsigned", 51)._replace(signature=bytes(64))


def _misrouted(group: Group) -> SignedEvent:
    return near(group, "for another member", 52, far=True)


REFUSED = {
    Reason.MALFORMED: _first_event,
    Reason.NOT_AUTHOR: _of_nobody,
    Reason.SIGNATURE: _unsigned,
    Reason.MISROUTED: _misrouted,
}


@pytest.mark.parametrize(("reason", "made"), REFUSED.items(), ids=[reason.value for reason in REFUSED])
def test_an_event_that_is_refused_keeps_none_of_the_others_out(
    reason: Reason, made: Callable[[Group], SignedEvent]
) -> None:
    group = Group("alice", "bob", "carol", redundancy=1)
    good = near(group, "good", 1)
    group.deliver("alice", Submit((made(group), good)), "carol")
    assert group["alice"].engine.refusals[reason] == 1
    group.settle(2000)
    assert "good" in group["alice"].texts()[0]


def test_an_event_of_a_removed_member_keeps_none_of_the_others_out() -> None:
    group = removed()
    theirs = signed_event(group.data_set, group["cas"].key, EventBody(Kind.SAY, 2, 90, 0, "of a removed member"))
    good = signed_event(group.data_set, group["bob"].key, EventBody(Kind.SAY, 1, 91, 0, "good"))
    group.deliver("ann", Submit((theirs, good)), "bob")
    assert group["ann"].engine.refusals[Reason.REMOVED] == 1
    assert good.name in group["ann"].engine._core.inbox or group["ann"].engine._core.known(good.name)


def test_it_is_told_what_became_of_an_event_that_the_checkpoint_passed() -> None:
    group = Group("alice", "bob")
    group.say("alice", "hello")
    post = group["alice"].engine.posts()[0].post.name
    group["alice"].engine.delete(post, group.now)
    group.carry(group["alice"])
    group.settle()
    told = [(one.name, one.kind, one.target, one.counts) for one in group["bob"].heard(EventSettled)]
    assert (post, Kind.SAY, None, True) in told
    assert (post._replace(number=post.number + 1), Kind.DELETE, post, True) in told


def test_a_full_inbox_of_one_author_keeps_nobody_elses_events_out() -> None:
    group = Group("alice", "bob", "carol", redundancy=1)
    inbox = group["alice"].engine._core.inbox
    for number in range(INBOX_PER_AUTHOR):
        inbox.add(signed_event(group.data_set, group["bob"].key, EventBody(Kind.SAY, 1, number + 100, 0, "waits")))
    mine = group["alice"].engine.me
    assert mine is not None
    theirs = signed_event(group.data_set, group["carol"].key, EventBody(Kind.SAY, 2, 1, 0, "of carol"))
    group.deliver("alice", Submit((near(group, "too many", 1), theirs)), "carol")
    assert group["alice"].engine.refusals[Reason.BUFFER_FULL] == 1
    assert theirs.name in inbox


def decided_by(*slots: int) -> bool:
    """True if the word of those that it removes was needed, where these of five accepted that 4 is removed."""
    turn, value = Turn(0, range(5)), Value(((4, 7),), (0, 1, 2, 3))
    for slot in slots:
        turn.add(slot, Statements(accept=Accept(Ballot(1, 0), value, 3)), 0)
    assert turn.decided() == value
    return turn.needs_removed(value)


def test_the_word_of_the_removed_is_needed_only_where_the_others_are_too_few() -> None:
    assert decided_by(0, 1, 4)
    assert not decided_by(0, 1, 2)
    assert not decided_by(0, 1, 2, 4)


def _ended(committee: Committee, slot: int, name: bytes) -> TreeNode:
    node = TreeNode(name, Operation(OperationBody(slot, 2, b"", (), b"", 0, 0, None, Statements()), b"", b""))
    node.dead = True
    committee.slots[slot].advance(node, set())
    committee.close(committee.slots[slot], 1, "removed")
    return node


def test_what_hangs_below_an_operation_that_stays_keeps_it_whatever_the_order_of_slots() -> None:
    """An operation of slot 1 has a child of slot 2, below which a member wrote: neither may go."""
    committee = Committee()
    for number in range(3):
        committee.admit(key_of(number), SlotState(1, bytes(32), {number: 1}, 0, 0))
    first, second = _ended(committee, 1, b"first"), _ended(committee, 2, b"second")
    assert committee._withered() == [first, second]
    first.children.append(second)
    assert len(committee._withered()) == 2, "both go together"
    member = OperationBody(0, 2, b"", (), b"", 0, 0, None, Statements())
    second.children.append(TreeNode(b"of a member", Operation(member, b"", b"")))
    assert committee._withered() == []


def test_the_last_settled_operation_is_named() -> None:
    group = Group("alice", "bob")
    group.say("alice", "hello")
    group.settle()
    engine = group["alice"].engine
    settled = engine._core.replica.settled
    assert settled is not None
    assert engine.last_settled() == settled.id


def _known_up_to(one: Participant, other: Participant, slot: int, seq: int) -> list[Operation]:
    """Return what `other` holds of a slot from `seq` on, and let `one` take in what it has of others."""
    for operation in one.lacks(other):
        if operation.body.slot != slot:
            one.receive(operation)
    return [
        node.operation for number, node in sorted(other.replica.committee.slots[slot].chain.items()) if number >= seq
    ]


def test_operations_that_a_member_names_are_taken_in_whatever_comes_first() -> None:
    """Dan was removed at an operation; cas, who does not know of it, names four more. They come last but one first."""
    ann, _, cas, dan = gathered(4)
    last = dan.replica.committee.slots[3].seq
    ann.take_from(dan)
    for _ in range(4):
        dan.write(said=Statements())
    cas.take_from(dan)
    named = cas.write(said=Statements())
    assert named is not None
    more = _known_up_to(ann, dan, 3, last + 1)
    ann.replica._close(ann.replica.committee.slots[3], last, "removed")
    ann.receive(named)
    for at in (1, 0, 2, 3):
        ann.receive(more[at])
    assert ann.replica.committee.slots[2].seq == named.body.seq
    assert not ann.intake.refused


def test_an_operation_that_counts_may_need_one_that_does_not() -> None:
    """Cas was removed as well, behind an operation that names one of dan's that does not count. It waited for that one
    since before both ends."""
    ann, _, cas, dan = gathered(4)
    last = dan.replica.committee.slots[3].seq
    ann.take_from(dan)
    ann.take_from(cas)
    (beyond,) = [dan.write(said=Statements())]
    cas.take_from(dan)
    named = cas.write(said=Statements())
    assert named is not None
    assert beyond is not None
    ann.receive(named)
    assert ann.intake.waiting
    slots = ann.replica.committee.slots
    ann.replica._close(slots[3], last, "removed")
    ann.replica._close(slots[2], named.body.seq, "removed")
    ann.receive(beyond)
    assert slots[2].seq == named.body.seq
    assert not ann.intake.refused


def test_where_a_decision_leaves_no_elector_the_members_vote_from_then_on() -> None:
    """Two of three electors leave; what they accepted before is forced, and removes the third one."""
    ann, *_ = gathered(4)
    replica = ann.replica
    slots = replica.committee.slots
    replica.turn = Turn(replica.turn.number, (0, 1, 2))
    for number in (0, 1):
        replica._close(slots[number], slots[number].seq, "left")
    assert replica.voters() == {2}
    replica._decide(Value(((2, slots[2].seq),), (0, 1)))
    assert replica.voters() == {3}


@pytest.mark.parametrize(("why", "named"), [("left", set()), ("removed", {3})])
def test_a_first_operation_names_the_last_words_of_the_removed_alone(why: str, named: set[int]) -> None:
    """Whoever knows a new slot has passed the leaves before it, and not the removals."""
    ann, *_ = gathered(4)
    replica = ann.replica
    dan = replica.committee.slots[3]
    replica._prove(dan, dan.seq)
    replica._close(dan, replica.settled_seq[3], why)
    slot = replica.committee.admit(key_of(9), SlotState(0, b"", dict(replica.settled_seq), 0, 1))
    replica.take_slot(slot.number)
    assert replica.proven == named
    assert bool(dan.proof) is bool(named)
