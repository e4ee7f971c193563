"""Messages that name each other, or an ancestor of each other, hold nobody up: of one of them only the id is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds.config import SPEC
from sdschat.sds.events import Rejected
from sdschat.sds.values import IncomingRow, Reason, Table
from tests.sds.group import CODEC, START, Group, forge

SKEW = 600_000
A = forge("z", "a", START + 100, "b")
B = forge("z", "b", START + 101, "a")
CHILD = forge("c", "child", START + 200, "b", "first")
GRANDCHILD = forge("c", "grandchild", START + 300, "child")


@pytest.fixture
def group() -> Group:
    group = Group("n")
    group.give("n", forge("c", "first", START + 1))
    return group


def delivered_in_the_end(group: Group) -> list[str]:
    group.tick(3 * group.config.lost_after)
    assert not group["n"].channel.state.incoming.buffered
    return group["n"].log


def refused(group: Group, name: str = "n") -> list[tuple[Reason, str]]:
    return [(event.reason, event.message_id) for event in group[name].of(Rejected)]


def test_two_that_name_each_other(group: Group) -> None:
    for message in (A, B, CHILD, GRANDCHILD):
        group.give("n", message)
    assert refused(group) == [(Reason.CLOCK_NOT_ABOVE_PARENT, "a")]
    assert delivered_in_the_end(group) == ["first", "a", "b", "child", "grandchild"]


def test_a_ring_of_three(group: Group) -> None:
    ring = forge("z", "x", START + 50, "b"), forge("z", "y", START + 60, "x"), forge("z", "b", START + 70, "y")
    for message in (*ring, CHILD, GRANDCHILD):
        group.give("n", message)
    assert refused(group) == [(Reason.CLOCK_NOT_ABOVE_PARENT, "x")]
    assert delivered_in_the_end(group) == ["first", "x", "y", "b", "child", "grandchild"]


def test_one_of_them_waits_for_its_date_first(group: Group) -> None:
    ahead = START + SKEW + 60_000
    group.give("n", forge("z", "a", START + 100, "b"))
    group.give("n", forge("z", "b", ahead, "a"))
    group.tick(60_000)
    assert refused(group) == [(Reason.CLOCK_NOT_ABOVE_PARENT, "a")]
    group.give("n", forge("c", "child", ahead + 200, "b"))
    assert delivered_in_the_end(group) == ["first", "a", "b", "child"]


def test_a_disk_that_has_both(group: Group) -> None:
    """Older programs saved them."""
    group.give("n", A)
    rows = group["n"].store.tables[Table.INCOMING]
    rows["b"] = IncomingRow(B, CODEC.encode(B), "live", 0, START, 0, ())
    del group["n"].store.tables[Table.MISSING]["b"]
    group.crash("n")
    group.give("n", CHILD)
    assert refused(group) == [(Reason.CLOCK_NOT_ABOVE_PARENT, "a")]
    assert delivered_in_the_end(group) == ["first", "a", "b", "child"]


def test_two_who_hear_child_and_parent_in_turn_have_equal_logs_and_wait_for_nothing() -> None:
    group = Group("a", "b", config=replace(SPEC, id_rule="text"), settle=2000)
    child, parent = forge("x", "child", group.now.wall, "parent"), forge("x", "parent", group.now.wall + 1)
    for name, heard in (("a", (child, parent)), ("b", (parent, child))):
        for message in heard:
            group.give(name, message)
    group.lose()
    assert refused(group, "a") == []
    assert refused(group, "b") == [(Reason.CLOCK_NOT_ABOVE_PARENT, "child")]
    said = group.say("a", "what names the child")
    assert group["b"].log == group["a"].log == ["child", "parent", said.message_id]
    group.tick(group.config.lost_after)
    assert not any(packet.kind == "push" for packet in group["a"].sent)
