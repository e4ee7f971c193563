"""The lines of one person stand in the order in which they were said."""

from __future__ import annotations

import pytest

from sdschat.timber import limits
from sdschat.timber.events import MemberChanged, Placed
from sdschat.timber.values import Submit, member_id
from tests.timber.group import Group

LINES = [f"line {number}" for number in range(30)]


def _said_at_once(group: Group, name: str) -> None:
    for text in LINES:
        group[name].engine.say(text, group.now)
    group.carry(group[name])


def test_lines_that_are_said_at_once_stand_in_order() -> None:
    group = Group("ann", "bob", "cid")
    _said_at_once(group, "ann")
    group.settle()
    for node in group.nodes.values():
        assert node.texts() == LINES


def test_lines_that_wait_until_their_author_is_let_in_stand_in_order() -> None:
    group = Group("ann", "bob", "cid", "dan", members=False)
    for name in ("bob", "cid"):
        group["ann"].engine.invite(group[name].key, group.now)
        group.carry(group["ann"])
    group.settle()
    _said_at_once(group, "dan")
    group["ann"].engine.invite(group["dan"].key, group.now)
    group.carry(group["ann"])
    group.settle()
    for node in group.nodes.values():
        assert node.texts() == LINES


@pytest.mark.parametrize("gone", ["bob", "cid"])
def test_lines_stand_in_order_where_a_member_that_should_write_is_gone(gone: str) -> None:
    group = Group("ann", "bob", "cid")
    group[gone].up = False
    _said_at_once(group, "ann")
    group.settle(60_000)
    group[gone].up = True
    group.settle(60_000)
    for node in group.nodes.values():
        assert [text for text in node.texts() if text in LINES] == LINES


def test_an_invitation_that_has_to_wait_holds_no_line_up(monkeypatch: pytest.MonkeyPatch) -> None:
    group = Group("ann", "bob", "cid")
    monkeypatch.setattr(limits, "MAX_INVITATIONS", 0)
    group["ann"].engine.invite(bytes(32), group.now)
    _said_at_once(group, "ann")
    group.settle()
    assert group["bob"].texts() == LINES


def test_a_line_after_a_pause_is_given_to_the_nearest_members() -> None:
    group = Group("ann", "bob", "cid")
    group.say("ann", *LINES)
    given = [packet for packet in group["ann"].sent if isinstance(packet.message, Submit)]
    assert len(given) > len(LINES) // 4
    assert group["bob"].texts() == LINES


def test_an_invitation_that_two_members_write_is_told_once() -> None:
    group = Group("ann", "bob", "cid", "dan", members=False, stagger=0)
    for name in ("bob", "cid", "dan"):
        group["ann"].engine.invite(group[name].key, group.now)
        group.carry(group["ann"])
        group.settle()
    key = group["dan"].key
    for name in ("ann", "bob", "cid"):
        placed = [one for one in group[name].heard(Placed) if one.body is not None and one.body.key == key]
        assert len(placed) == 2
        told = [one.member for one in group[name].heard(MemberChanged) if one.status == "invited"]
        assert told.count(member_id(key)) == 1
