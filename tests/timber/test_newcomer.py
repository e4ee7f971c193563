"""Whoever is let in takes the state once, and the checkpoint does not wait for a heartbeat of theirs."""

from __future__ import annotations

from collections import Counter

from sdschat.timber.events import StateAdopted
from sdschat.timber.limits import PAGE_BYTES
from sdschat.timber.values import StatePage, StateWanted
from tests.timber.group import Group, Node

HEARTBEAT = 1000


def _let_in(posts: int) -> tuple[Group, Node]:
    """Make three members with a history, and let in a fourth one. Time stands at its invitation."""
    group = Group("alice", "bob", "carol", rounds=8, heartbeat=HEARTBEAT)
    for at in range(posts):
        name = ("alice", "bob", "carol")[at % 3]
        group[name].engine.say(f"{name} {at} of a long history " + 9 * "and on ", group.now)
        group.carry(group[name])
        if at % 100 == 99:
            group.settle(1000)
    group.settle()
    members = [node.id for node in group.nodes.values()]
    dora = Node("dora", 3, rounds=8, heartbeat=HEARTBEAT)
    dora.boot(group.now)
    group.nodes["dora"] = group.by_id[dora.id] = dora
    dora.engine.join(group.data_set, members, group.now)
    group.carry(dora)
    group.settle(5000)
    group["alice"].engine.invite(dora.key, group.now)
    group.carry(group["alice"])
    return group, dora


def test_the_state_is_sent_once() -> None:
    group, dora = _let_in(1500)
    group.settle()
    assert dora.engine.me == 3
    pages = [packet.message for node in group.nodes.values() for packet in node.sent if packet.peer == dora.id]
    given = Counter(page.page for page in pages if isinstance(page, StatePage))
    assert max(given) > 0, f"more than a page of {PAGE_BYTES} bytes"
    assert set(given.values()) == {1}
    assert len(dora.texts()) == 1500


def test_a_state_that_was_just_taken_over_outlives_a_restart() -> None:
    group, dora = _let_in(30)
    for _ in range(100):
        if not dora.heard(StateAdopted):
            group.settle(100)
    (adopted,) = dora.heard(StateAdopted)
    before = dora.engine.checkpoint, dora.texts(), [node.id for node in dora.engine.operations()]
    dora.boot(group.now)
    assert (dora.engine.checkpoint, dora.texts(), [node.id for node in dora.engine.operations()]) == before
    assert adopted.mark.number <= dora.engine.checkpoint.number
    assert len(dora.texts()) == 30


def test_the_first_word_comes_at_once() -> None:
    group, dora = _let_in(3)
    group.settle(HEARTBEAT // 2)
    assert dora.engine.me == 3
    assert next(one.seq for one in group["alice"].engine.members() if one.slot == 3) > 0


def test_who_asked_before_being_let_in_need_not_wait_for_the_next_turn() -> None:
    """The question that a stranger gets no answer to was held against the only member who could answer."""
    group = Group("alice", sync_interval=60_000)
    bob = Node("bob", 1, sync_interval=60_000)
    group.nodes["bob"] = group.by_id[bob.id] = bob
    bob.boot(group.now)
    bob.engine.join(group.data_set, [group["alice"].id], group.now)
    for _ in range(2):  # alice is here, and comes again
        bob.engine.greet(group["alice"].id, group.now)
        group.carry(bob)
        group.settle(5000)
    group["alice"].engine.invite(bob.key, group.now)
    group.carry(group["alice"])
    group.settle(1000)
    assert bob.engine.me == 1


def test_a_state_that_was_made_for_a_newcomer_is_given_to_nobody_else() -> None:
    """Before the newcomer has written, it alone need not know of every end. Somebody who was put out waits for that."""
    group = Group("alice", "bob", "carol")
    alice, carol = group["alice"], group["carol"]
    dora = Node("dora", 3)
    group.nodes["dora"] = group.by_id[dora.id] = dora
    dora.engine.join(group.data_set, [alice.id, group["bob"].id], group.now)
    group.carry(dora)
    carol.up = dora.up = False
    alice.engine.invite(dora.key, group.now)
    group.carry(alice)
    said = 0
    while all(one.member != dora.id for one in alice.engine.members()):
        said += 1
        group.say(("alice", "bob")[said % 2], f"post {said}")
    replica = alice.engine._core.replica
    start = len(alice.sent)
    group.deliver("alice", StateWanted(0, 0), "carol")
    assert not any(isinstance(packet.message, StatePage) for packet in alice.sent[start:]), "the last one is old"
    group.settle(1500)
    assert [one.member for one in alice.engine.members()] == [alice.id, group["bob"].id, dora.id]
    assert replica.base != replica.mark, "the compaction waits for her"
    start = len(alice.sent)
    for name in ("dora", "carol"):
        group.deliver("alice", StateWanted(0, 0), name)
    pages = [packet for packet in alice.sent[start:] if isinstance(packet.message, StatePage)]
    assert [packet.peer for packet in pages] == [dora.id]
    assert [page.message.mark for page in pages if isinstance(page.message, StatePage)] == [replica.mark]
    carol.up = dora.up = True
    group.settle()
    assert [len(node.texts()) for node in group.nodes.values()] == [said] * 4


def test_newcomers_ask_those_who_have_something() -> None:
    """Three know of one another and of alice, who lets one in. Each is greeted by the two who have nothing first."""
    group = Group("alice")
    newcomers = [Node(name, number) for number, name in enumerate(("bob", "carol", "dora"), 1)]
    for node in newcomers:
        group.nodes[node.name] = group.by_id[node.id] = node
    for node in newcomers:
        node.engine.join(group.data_set, [one for one in group.by_id if one != node.id], group.now)
        group.carry(node)
    bob = newcomers[0]
    group["alice"].engine.invite(bob.key, group.now)
    group.carry(group["alice"])
    group.settle(10_000)
    asked = {packet.peer for node in newcomers for packet in node.sent if isinstance(packet.message, StateWanted)}
    assert asked == {group["alice"].id}
    assert bob.engine.me == 1


def test_a_member_that_lost_its_replica_has_a_state_at_once() -> None:
    """It wrote before, so nobody answered its empty clock, and it waited for the turn in which one of them said its
    own: up to 20 seconds, by default, for each member."""
    group = Group("ann", "bob", "cas", sync_interval=600_000)
    group.say("cas", "one")
    cas = group["cas"]
    cas.store.rows.clear()
    cas.boot(group.now)
    cas.reports.clear()
    cas.engine.join(group.data_set, [group["ann"].id, group["bob"].id], group.now)
    group.carry(cas)
    group.settle(1000)
    assert cas.heard(StateAdopted)
    assert cas.texts() == ["one"]
