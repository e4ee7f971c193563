"""Members that go silent: who is removed, who stays, and what comes back."""

from __future__ import annotations

from typing import Any

from sdschat.timber.events import Decided, MemberChanged, Rewritten, StateAdopted
from tests.timber.group import Group

THREE = ("alice", "bob", "carol")
AT_ONCE: dict[str, Any] = {"redundancy": 3, "stagger": 0}  # everybody writes its own events


def test_t_033_t_038_t_051_silence_removal_and_what_was_written_meanwhile() -> None:
    """A silent member is removed by the others; its posts come back when it does, each once.

    T-004: "If multiple peers are editing concurrently while another is offline, the offline peer may need to download
    and replay their events after regaining connection." the events of somebody who was removed are written again.

    T-030: "Without another mechanism to account for it, the compaction process would halt and no new peers could be
    invited."

    T-032: "silent for a predetermined number of rounds, they're considered inactive"

    T-038: "Everyone acknowledges the silence and the inactive contributor is finally removed. Checkpoints continue
    normally."

    T-033: "If everyone acknowledges a history where a contributor is noticeably silent" differs: more than half of the
    electors decide, since unanimity waits for the dead.

    T-041: "the eviction will end after everyone submits their next update." differs: after more than half of the
    electors did.

    T-051: "You can integrate them upstream or rebase them after the compaction point. No data gets lost."
    """
    group = Group(*THREE)
    carol = group["carol"]
    carol.up = False
    carol.engine.say("from far away", group.now)
    carol.store.apply(carol.engine.take().writes)
    for number in range(10):
        group.say(("alice", "bob")[number % 2], f"post {number}")
    group.settle()
    alice = group["alice"].engine
    assert len(alice.members()) == 2
    assert [one.status for one in group["alice"].heard(MemberChanged) if one.slot == 2][-2:] == ["silent", "removed"]
    (decided,) = (one for one in group["alice"].heard(Decided) if one.value is not None and one.value.removed)
    assert (decided.agreed, decided.need) == ((0, 1), 2), "two of three"
    assert all(view.settled for view in alice.posts()), "checkpoints go on"
    carol.up = True
    group.settle()
    assert carol.engine.me is None
    assert carol.heard(StateAdopted)[-1].again == 1
    alice.invite(carol.key, group.now)
    group.carry(group["alice"])
    group.settle()
    assert [node.texts().count("from far away") for node in group.nodes.values()] == [1, 1, 1]
    assert len(carol.heard(Rewritten)) == 1


def test_t_050_a_smaller_part_removes_nobody_and_compacts_nothing() -> None:
    """T-050: "unless your partition controls the majority, you cannot evict peers, and therefore you cannot run
    compaction."
    """
    group = Group("alice", "bob", "carol", "dora", "erin")
    for name in ("carol", "dora", "erin"):
        group[name].up = False
    before = group["alice"].engine.checkpoint.number
    for number in range(30):
        group.say(("alice", "bob")[number % 2], f"post {number}")
    group.settle(60_000)
    assert len(group["alice"].engine.members()) == 5
    assert group["alice"].engine.checkpoint.number <= before + 5
    for node in group.nodes.values():
        node.up = True
    group.settle(60_000)
    assert {len(node.texts()) for node in group.nodes.values()} == {30}
    assert len({node.engine.checkpoint for node in group.nodes.values()}) == 1


def test_a_member_that_answers_is_not_silent_in_a_busy_room() -> None:
    """Posts come faster than heartbeats, and chance makes others write them: it says in time that it is here.

    T-032: "silent for a predetermined number of rounds, they're considered inactive" `timber.rounds`, 8 by default; and
    for the time of a heartbeat.
    """
    group = Group(*THREE, redundancy=1, heartbeat=30_000)
    for number in range(300):
        group["alice"].engine.say(f"post {number}", group.now)
        group.carry(group["alice"])
        group.settle(100)
    group.settle(60_000)
    assert [len(node.engine.members()) for node in group.nodes.values()] == [3, 3, 3]
    assert not any(one.status == "silent" for node in group.nodes.values() for one in node.heard(MemberChanged))


def test_a_burst_of_posts_makes_nobody_silent() -> None:
    """More operations in an instant than a member may miss: it answers when they have arrived."""
    group = Group(*THREE, **AT_ONCE)
    for number in range(100):
        group["alice"].engine.say(f"post {number}", group.now)
        group.carry(group["alice"])
    group.settle()
    assert len(group["alice"].engine.members()) == 3
    assert [one.status for one in group["alice"].heard(MemberChanged)].count("silent") == 0
    assert {len(node.texts()) for node in group.nodes.values()} == {100}


def test_two_members_cannot_remove_each_other() -> None:
    """T-049: one of two is no majority.

    T-049: "You can only evict a peer if at least 51% of the committee acknowledged the silence." more than half must
    remain, and agree.
    """
    group = Group("alice", "bob")
    group["bob"].up = False
    group.say("alice", *[f"post {number}" for number in range(20)])
    group.settle(60_000)
    assert len(group["alice"].engine.members()) == 2
    group["bob"].up = True
    group.settle()
    assert len(group["bob"].texts()) == 20


def test_who_is_shut_out_is_removed_though_nobody_writes_and_only_by_a_majority() -> None:
    """T-030: "Without another mechanism to account for it, the compaction process would halt and no new peers could be
    invited." A decision outside of the data set, such as a removal from a private channel, takes the place of the
    silence; that more than half of the electors agree (T-049) it does not replace.
    """
    group = Group(*THREE)
    group.settle(60_000)
    group["carol"].up = False
    group["alice"].engine.join(group.data_set, [group["bob"].id], group.now, frozenset({group["carol"].id}))
    group.settle(500)
    assert len(group["alice"].engine.members()) == 3, "one heartbeat is waited for: its last words may be on the way"
    group.settle(60_000)
    assert [len(group[name].engine.members()) for name in ("alice", "bob")] == [2, 2]
    (decided,) = (one for one in group["alice"].heard(Decided) if one.value is not None and one.value.removed)
    assert (decided.agreed, decided.need) == ((0, 1), 2)


def test_who_is_shut_out_stays_so_for_whoever_takes_over_the_state_of_the_channel() -> None:
    group = Group("alice", "carol", "dora", members=False)
    dora, carol = group["dora"], group["carol"]
    dora.engine.join(group.data_set, [group["alice"].id], group.now, frozenset({carol.id}))
    for guest in (carol, dora):
        group["alice"].engine.invite(guest.key, group.now)
        group.carry(group["alice"])
        group.settle()
    assert dora.engine.me == 2
    assert [one.slot for one in dora.heard(MemberChanged) if one.status == "silent"] == [1]
