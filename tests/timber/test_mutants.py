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
from tests.timber.test_state_sources import removed
from tests.timber.world import key_of, signed_event

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
