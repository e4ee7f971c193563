"""Events of a members' channel, from the reports of one engine: each change is told once."""

from __future__ import annotations

from sdschat.node.members.events import CheckpointPassed, MemberStatusChanged, StateTaken
from sdschat.node.members.told import Told
from sdschat.timber.events import CheckpointMoved, StateAdopted
from sdschat.timber.values import sender_of
from tests.timber.group import Group, Node


def _told(node: Node) -> Told:
    return Told(node.engine, lambda sender: "", sender_of(node.id))


def test_a_newcomer_is_told_once_that_it_is_a_member_and_that_nobody_went_on_without_it() -> None:
    """The state that it takes has its admission already."""
    group = Group("ann", "bob", "cas", rounds=8, heartbeat=30_000, stagger=2_000, retry=10_000, sync_interval=20_000)
    group.nodes["dan"] = dan = Node("dan", 9)
    group.by_id[dan.id] = dan
    group.settle(60_000)
    dan.engine.join(group.data_set, [group[name].id for name in ("ann", "bob", "cas")], group.now)
    group.carry(dan)
    told = _told(dan)
    group.say("bob", "one", "two")
    group.settle(2_000)
    group["ann"].engine.invite(dan.key, group.now)
    group.carry(group["ann"])
    group.settle(80_000)
    assert dan.heard(StateAdopted)
    events = list(told.events(dan.reports))
    own = [one.status for one in events if isinstance(one, MemberStatusChanged) and one.sender_id == sender_of(dan.id)]
    assert own == ["member"]
    assert [one.returned for one in events if isinstance(one, StateTaken)] == [False]


def test_a_newcomer_that_was_put_out_before_it_had_a_state_is_told() -> None:
    group = Group("ann", "bob", "cas")
    group.nodes["dan"] = dan = Node("dan", 9)
    group.by_id[dan.id] = dan
    dan.up = False
    group.settle(10_000)
    group["ann"].engine.invite(dan.key, group.now)
    group.carry(group["ann"])
    for number in range(12):
        group.say("ann", f"{number}")
        group.say("bob", f"{number}")
        group.settle(10_000)
    assert group["ann"].engine.put_out(dan.id)
    dan.up = True
    told = _told(dan)
    dan.engine.join(group.data_set, [group[name].id for name in ("ann", "bob", "cas")], group.now)
    group.carry(dan)
    group.settle(60_000)
    events = list(told.events(dan.reports))
    own = [one.status for one in events if isinstance(one, MemberStatusChanged) and one.sender_id == sender_of(dan.id)]
    assert own == ["evicted"]


def test_whoever_was_put_out_is_told_that_the_others_went_on() -> None:
    group = Group("ann", "bob", "cas")
    cas = group["cas"]
    group.say("cas", "one")
    group.settle(10_000)
    told = _told(cas)
    before = len(cas.reports)
    cas.up = False
    for number in range(12):
        group.say("ann", f"{number}")
        group.say("bob", f"{number}")
    group.settle(60_000)
    cas.up = True
    group.settle(60_000)
    events = list(told.events(cas.reports[before:]))
    taken = [one.returned for one in events if isinstance(one, StateTaken)]
    assert taken == [True]
    own = [one.status for one in events if isinstance(one, MemberStatusChanged) and one.sender_id == sender_of(cas.id)]
    assert own == ["evicted"]


def test_the_checkpoint_is_told_with_the_last_operation_of_its_place() -> None:
    """In one step it may move several times."""
    group = Group("ann", "bob")
    told = _told(group["ann"])
    group["ann"].reports.clear()
    group.say("bob", "one", "two", "three")
    group.settle()
    engine = group["ann"].engine
    assert sum(isinstance(report, CheckpointMoved) for report in group["ann"].reports) > 1
    moved = [event for event in told.events(group["ann"].reports) if isinstance(event, CheckpointPassed)]
    assert [(one.number, one.last) for one in moved] == [(engine.checkpoint.number, engine.last_settled().hex())]
