"""Whoever restores a profile, runs a copy of it, or brings a key to another machine loses nothing of what it writes."""

from __future__ import annotations

from copy import deepcopy

import pytest

from sdschat.timber.events import Forked, Renumbered
from sdschat.timber.values import CheckpointMark, EventBody, Kind, PostId, Statements, Sync
from sdschat.timber.views import MemberStanding
from tests.timber.group import Group, Node
from tests.timber.world import key_of, signed_event

NAMES = ("alice", "bob", "carol")


def test_whoever_brings_its_key_to_another_profile_goes_on_behind_its_last_event() -> None:
    """Its first posts had the numbers of old ones, and were taken for those."""
    group = Group(*NAMES)
    group.say("bob", "old one", "old two")
    group.settle()
    new = Node("bob", 1)
    group.nodes["bob"] = group.by_id[new.id] = new
    new.engine.join(group.data_set, [group["alice"].id], group.now)
    group.carry(new)
    group.settle()
    group.say("bob", "new one", "new two")
    group.settle()
    assert [node.texts() for node in group.nodes.values()] == [["old one", "old two", "new one", "new two"]] * 3


def test_a_post_with_a_number_that_is_used_elsewhere_is_written_with_another_one() -> None:
    """Bob writes on one machine, and at the same time on another one that has not heard of that."""
    group = Group(*NAMES)
    group.say("bob", "before")
    group.settle()
    bob = group["bob"]
    old = deepcopy(bob.store)
    group.say("bob", "lost with the disk")
    group.settle()
    bob.store = old
    bob.boot(group.now)
    bob.engine.say("after the restore", group.now)
    group.carry(bob)
    group.settle(4000)
    others = ("alice", "carol")
    for at in range(24):
        group.say(others[at % 2], f"more {at}")
    group.settle()
    if bob.engine.me is None:
        group["alice"].engine.invite(key_of(1), group.now)
        group.carry(group["alice"])
        group.settle(30_000)
    assert bob.heard(Renumbered)
    for node in group.nodes.values():
        assert node.texts().count("after the restore") == 1, node.name
        assert node.texts().count("lost with the disk") == 1, node.name


def test_what_has_our_number_elsewhere_is_shown_at_once() -> None:
    """A copy of bob's profile said it, and alice wrote it, while what bob says here is with her."""
    group = Group(*NAMES)
    bob, alice = group["bob"], group["alice"]
    texts = iter(f"here {number}" for number in range(100))
    name = None
    while name is None or bob.engine._core.known(name):  # he is the nearest member, and wrote it himself
        bob.boot(group.now)
        text = next(texts)
        name = bob.engine.say(text, group.now)
    assert bob.texts() == [text]
    copied = EventBody(Kind.SAY, name.author, name.number, 0, "elsewhere")
    operation = alice.engine._core.write(signed_event(group.data_set, bob.key, copied), Statements())
    bob.engine.receive(alice.id, Sync(bob.engine._core.replica.base, (), b"", (operation,)), group.now)
    assert sorted(bob.texts()) == ["elsewhere", text]


def _unwritten_post(group: Group) -> PostId:
    """Let bob say something that another member is to write, and return its name."""
    bob = group["bob"]
    for number in range(100):
        bob.boot(group.now)
        name = bob.engine.say(f"here {number}", group.now)
        assert name is not None
        if not bob.engine._core.known(name):  # he is not the nearest member
            return name
    raise AssertionError("not reached")


def test_who_leaves_under_a_number_that_is_used_elsewhere_leaves_all_the_same() -> None:
    """The leave waits behind a post that another member writes. It was dropped, and bob was a member again, untold."""
    group = Group(*NAMES)
    bob, alice = group["bob"], group["alice"]
    _unwritten_post(group)
    left = bob.engine.leave(group.now)
    assert left is not None
    copied = EventBody(Kind.SAY, left.author, left.number, 0, "elsewhere")
    operation = alice.engine._core.write(signed_event(group.data_set, bob.key, copied), Statements())
    bob.engine.receive(alice.id, Sync(bob.engine._core.replica.base, (), b"", (operation,)), group.now)
    group.carry(bob)
    assert bob.engine.standing() is MemberStanding.LEAVING
    group.settle(60_000)
    assert bob.engine.standing() is MemberStanding.LEFT
    assert {view.slot for view in alice.engine.members()} == {0, 2}
    assert sorted(text[:4] for text in alice.texts()) == ["else", "here"]


def test_who_was_put_out_while_it_left_stays_when_it_is_let_in_again() -> None:
    group = Group(*NAMES)
    bob = group["bob"]
    old = deepcopy(bob.store)
    group.say("bob", "elsewhere")
    group.settle()
    bob.store = old
    bob.boot(group.now)
    group.sides["bob"] = 1
    bob.engine.leave(group.now)
    group.carry(bob)
    for number in range(24):
        group.say(("alice", "carol")[number % 2], f"{number}")
    group["alice"].engine.invite(bob.key, group.now)
    group.carry(group["alice"])
    group.settle()
    group.sides.clear()
    group.settle(60_000)
    assert bob.engine.standing() is MemberStanding.MEMBER


def _returned_from_a_copy(elsewhere: str, deleted: bool, said: str) -> Group:
    """Let bob's key be used elsewhere, all of that be settled, and an older copy of his profile say something."""
    group = Group(*NAMES)
    group.say("bob", "before")
    group.settle()
    bob = group["bob"]
    old = deepcopy(bob.store)
    group.say("bob", elsewhere)
    group.settle()
    if deleted:
        name = next(view.post.name for view in bob.engine.posts() if view.post.text == elsewhere)
        bob.engine.delete(name, group.now)
        group.carry(bob)
        group.settle()
    bob.store = old
    bob.up = False
    for at in range(24):
        group.say(("alice", "carol")[at % 2], f"more {at}")
    group.settle()
    group["alice"].engine.invite(key_of(1), group.now)
    group.carry(group["alice"])
    group.settle(30_000)
    bob.boot(group.now)
    bob.engine.say(said, group.now)
    group.carry(bob)
    bob.up = True
    group.settle(30_000)
    return group


@pytest.mark.parametrize("deleted", [False, True])
def test_what_an_old_copy_says_is_not_taken_for_what_is_settled_under_its_number(deleted: bool) -> None:
    """Neither where it has the same words, nor where what has its number is gone."""
    group = _returned_from_a_copy("yes", deleted, "yes")
    for node in group.nodes.values():
        assert node.texts().count("yes") == 2 - deleted, node.name


def test_whoever_writes_a_number_twice_is_shown_what_it_wrote_before() -> None:
    """Carol is away, so that nothing is settled. Bob's own program is told that his key is used twice."""
    group = Group(*NAMES)
    group["carol"].up = False
    bob = group["bob"]
    old = deepcopy(bob.store)
    group.say("bob", "lost with the disk")
    bob.store = old
    bob.boot(group.now)
    group["alice"].up = False  # bob writes before he hears of it
    group.say("bob", "after the restore")
    group["alice"].up = True
    group.settle(10_000)
    assert {one.slot for one in bob.heard(Forked)} == {1}


def test_operations_of_ours_that_come_back_hide_none_that_they_do_not_name() -> None:
    """Bob has carol's last word before his own operation of another day, which does not name it. He never named it, so
    that no checkpoint passed it."""
    group = Group(*NAMES)
    group.settle()
    bob, carol = group["bob"], group["carol"]
    old = deepcopy(bob.store)
    group.sides = {"carol": 1}
    carol.engine.say("last word", group.now)
    group.carry(carol)
    group.settle(1000)
    hers = [node.operation for node in carol.engine.operations() if node.operation.body.slot == 2]
    group.say("bob", "lost with the disk")
    others = [node.operation for node in bob.engine.operations() if node.operation.body.slot != 2]
    carol.up = False
    bob.store = old
    bob.boot(group.now)
    group.sides = {}
    for operations in (hers, others):
        for name in ("alice", "bob"):
            group.deliver(name, Sync(CheckpointMark(0, b""), (), bytes(32), tuple(operations)), "alice")
    group.settle(4000)
    slots = group["alice"].engine._core.replica.committee.slots
    assert slots[1].clock[2] == slots[2].seq
