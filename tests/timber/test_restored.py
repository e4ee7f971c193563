"""Whoever restores a profile, runs a copy of it, or brings a key to another machine loses nothing of what it writes."""

from __future__ import annotations

from copy import deepcopy

from sdschat.timber.events import Forked, Renumbered
from tests.timber.group import Group, Node
from tests.timber.world import key_of

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
