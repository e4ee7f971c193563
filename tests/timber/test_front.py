"""The chat in front of the checkpoint, where a change and its post come in another order than that in which they
stand."""

from __future__ import annotations

import itertools

import pytest

from sdschat.timber.events import Replaced
from sdschat.timber.values import (
    CheckpointMark,
    EventBody,
    Kind,
    Operation,
    PostId,
    SignedEvent,
    Statements,
    Sync,
    operation_id,
)
from tests.timber.group import Group
from tests.timber.world import signed_event, signed_operation


def written(group: Group, name: str, event: SignedEvent) -> Operation:
    """Return the next operation of a member, which it does not keep."""
    draft = group[name].engine._core.replica.draft(event, Statements())
    return signed_operation(group.data_set, group[name].key, draft)


def post_and_change(group: Group, *, change_first: bool) -> tuple[Operation, Operation]:
    """Let bob write a post of cas, and cas beside it an edit of that, which stands behind it or in front of it."""
    cas, post = group["cas"].key, PostId(2, 1)
    said = signed_event(group.data_set, cas, EventBody(Kind.SAY, 2, 1, 0, "one"))
    first = written(group, "bob", said)
    for time in itertools.count():
        edited = signed_event(group.data_set, cas, EventBody(Kind.EDIT, 2, 2, time, "two", post))
        second = written(group, "cas", edited)
        if (_id(group, second) < _id(group, first)) is change_first:  # of two beside each other the lowest comes first
            return first, second
    raise AssertionError("not reached")


def _id(group: Group, operation: Operation) -> bytes:
    return operation_id(group.data_set, operation.raw)


@pytest.mark.parametrize("arrives_first", ["post", "change"])
@pytest.mark.parametrize(("change_first", "text"), [(False, "two"), (True, "one")])
def test_a_change_counts_where_it_stands_behind_its_post_however_they_come(
    change_first: bool, text: str, arrives_first: str
) -> None:
    group = Group("ann", "bob", "cas")
    group.settle(60_000)
    post, change = post_and_change(group, change_first=change_first)
    come = ((post, "bob"), (change, "cas"))
    for operation, writer in come if arrives_first == "post" else reversed(come):
        shown = group["ann"].texts()  # from here on it is kept up
        group.deliver("ann", Sync(CheckpointMark(0, b""), (), bytes(32), (operation,)), writer)
    assert shown == (["one"] if arrives_first == "post" else [])
    assert group["ann"].texts() == [text]


def test_a_change_that_waits_is_shown_on_when_its_post_is_settled() -> None:
    group = Group("ann", "bob", "cas", rounds=1000)
    ann, bob = group["ann"], group["bob"]
    group["cas"].up = False
    group.say("bob", "one")
    group.settle()
    (view,) = bob.engine.posts()
    group.sides["bob"] = 1
    bob.engine.edit(view.post.name, "two", group.now)
    assert bob.texts() == ["two"]
    group["cas"].up = True
    group.settle()
    held = tuple(node.operation for node in ann.engine.operations())
    group.deliver("bob", Sync(CheckpointMark(0, b""), (), bytes(32), held), "ann")
    assert [one.settled for one in bob.engine.posts()] == [False]
    assert bob.engine.post(view.post.name) is not None
    assert bob.texts() == ["two"]


def two_of_one_number(group: Group, first: Kind, second: Kind, number: int = 1) -> list[Operation]:
    """Let cas write one event, and bob another one with its name that cas signed as well: in their linear order. Both
    may change the first post of cas."""
    cas, name, target = group["cas"].key, PostId(2, number), PostId(2, 1)
    for time in itertools.count():
        one, other = (
            signed_event(group.data_set, cas, EventBody(kind, *name, time, text, None if kind is Kind.SAY else target))
            for kind, text in ((first, "one"), (second, "other"))
        )
        found = [written(group, "cas", one), written(group, "bob", other)]
        if _id(group, found[0]) < _id(group, found[1]):
            return found
    raise AssertionError("not reached")


@pytest.mark.parametrize("second", [Kind.SAY, Kind.EDIT])
@pytest.mark.parametrize("arrives_first", [0, 1])
def test_of_two_events_of_one_number_all_show_the_one_that_stands_first(arrives_first: int, second: Kind) -> None:
    """Two members with the same operations showed different posts, for as long as the checkpoint did not pass them."""
    group = Group("ann", "bob", "cas")
    group.settle(60_000)
    both = two_of_one_number(group, Kind.SAY, second)
    told: list[str] = []
    for operation in (both[arrives_first], both[1 - arrives_first]):
        group["ann"].texts()  # from here on it is kept up
        group.deliver("ann", Sync(CheckpointMark(0, b""), (), bytes(32), (operation,)), "bob")
        told = group["ann"].texts()
    assert told == ["one"]
    assert group["ann"].heard(Replaced) == ([Replaced((PostId(2, 1),))] if arrives_first else [])


def test_where_the_first_of_two_events_is_lost_with_its_operation_the_other_one_is_told() -> None:
    group = Group("ann", "bob", "cas")
    group.settle(60_000)
    both = two_of_one_number(group, Kind.SAY, Kind.SAY)
    ann = group["ann"]
    group.deliver("ann", Sync(CheckpointMark(0, b""), (), bytes(32), tuple(both)), "bob")
    assert ann.texts() == ["one"]
    core = ann.engine._core
    cas = core.replica.committee.slots[2]
    core.replica._close(cas, cas.seq - 1, "removed")
    core.absorb()
    group.carry(ann)
    assert ann.texts() == ["other"]
    assert ann.heard(Replaced) == [Replaced((PostId(2, 1),))]
