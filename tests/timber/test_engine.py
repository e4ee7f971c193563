"""The verbs of the engine, one behaviour each."""

from __future__ import annotations

from typing import Any

import pytest

from sdschat.timber.config import Config
from sdschat.timber.events import Compacted, Forked, MemberChanged, Rewritten, StateAdopted
from sdschat.timber.ids import operation_bytes, operation_id
from sdschat.timber.rows import OperationRow
from sdschat.timber.values import (
    CheckpointMark,
    EventBody,
    Kind,
    Message,
    Operation,
    Packet,
    PostId,
    Reason,
    Refusal,
    StatePage,
    StateWanted,
    Submit,
    Sync,
)
from tests.timber.group import Group
from tests.timber.world import CODEC, key_of, sign_with, signed_event

THREE = ("alice", "bob", "carol")
AT_ONCE: dict[str, Any] = {"redundancy": 3, "stagger": 0}  # everybody writes its own events


def deleted_bytes(group: Group, text: str) -> list[str]:
    """Return the nodes on whose disks a text stands."""
    return [name for name, node in group.nodes.items() if text in repr(node.store.rows) or text.encode() in _raw(node)]


def _raw(node: object) -> bytes:
    rows = node.store.rows.values()  # type: ignore[attr-defined]
    return b"".join(row.raw for row in rows if isinstance(row, OperationRow))


def test_t_021_the_creator_is_alone_at_first() -> None:
    group = Group("alice")
    engine = group["alice"].engine
    assert [one.slot for one in engine.members()] == [0]
    group.say("alice", "hello")
    assert engine.checkpoint.number == 2
    assert [view.settled for view in engine.posts()] == [True]


def test_t_026_t_027_invitations_pass_the_checkpoint() -> None:
    """The first one at once, since only the creator is there; the next one needs the word of both."""
    group = Group(*THREE, members=False)
    alice = group["alice"].engine
    alice.invite(key_of(1), group.now)
    group.carry(group["alice"])
    assert len(alice.members()) == 2
    alice.invite(key_of(2), group.now)
    group.carry(group["alice"])
    assert len(alice.members()) == 2
    group.settle()
    assert len(alice.members()) == 3
    assert {len(node.engine.members()) for node in group.nodes.values()} == {3}


def test_posts_edits_and_deletions_reach_everybody() -> None:
    group = Group(*THREE)
    group.say("alice", "one", "two")
    group.say("bob", "three")
    bob = group["bob"].engine
    three = next(view.post.name for view in bob.posts() if view.post.text == "three")
    bob.edit(three, "three, changed", group.now)
    group.carry(group["bob"])
    group.settle()
    two = next(view.post.name for view in bob.posts() if view.post.text == "two")
    group["alice"].engine.delete(two, group.now)
    group.carry(group["alice"])
    assert group["alice"].texts() == ["one", "three, changed"], "gone from the screen at once"
    group.settle()
    for node in group.nodes.values():
        assert node.texts() == ["one", "three, changed"]
        assert all(view.settled for view in node.engine.posts())
        assert node.engine.checkpoint == group["alice"].engine.checkpoint


def test_t_001_deleted_text_is_on_no_disk_after_the_checkpoint() -> None:
    group = Group(*THREE)
    group.say("bob", "a word that nobody should keep")
    assert deleted_bytes(group, "nobody should keep") == list(THREE)
    name = group["bob"].engine.posts()[0].post.name
    group["bob"].engine.delete(name, group.now)
    group.carry(group["bob"])
    group.settle()
    assert deleted_bytes(group, "nobody should keep") == []
    assert group["carol"].heard(Compacted)[-1].alive == 0


def test_t_003_nothing_but_the_state_is_left_behind_the_checkpoint() -> None:
    group = Group(*THREE)
    for number in range(12):
        group.say(THREE[number % 3], f"post {number}")
    group.settle()
    for node in group.nodes.values():
        snapshot = node.store.snapshot()
        assert len(snapshot.posts) == 12
        assert len(snapshot.operations) <= 3 * len(THREE), "words of members without an event"
        assert snapshot.outbox == ()


def test_only_the_author_or_the_creator_may_change_a_post() -> None:
    group = Group(*THREE)
    group.say("bob", "mine")
    name = group["bob"].engine.posts()[0].post.name
    with pytest.raises(ValueError, match="only its author"):
        group["carol"].engine.edit(name, "yours", group.now)
    with pytest.raises(ValueError, match="only its author"):
        group["carol"].engine.delete(name, group.now)
    with pytest.raises(ValueError, match="no such post"):
        group["carol"].engine.delete(PostId(0, 99), group.now)
    group["alice"].engine.delete(name, group.now)
    group.carry(group["alice"])
    group.settle()
    assert group["carol"].texts() == []


def test_a_forged_edit_has_no_effect() -> None:
    """Somebody else's edit, signed by its own author, enters the tree and changes nothing."""
    group = Group(*THREE)
    group.say("bob", "mine")
    target = group["bob"].engine.posts()[0].post.name
    carol = group["carol"]
    body = EventBody(Kind.EDIT, carol.engine.me or 0, 1, 0, "yours", target)
    event = signed_event(group.data_set, carol.key, body)
    for name in ("alice", "bob"):
        group.deliver(name, Submit((event,)), "carol")
    group.settle()
    assert {tuple(node.texts()) for node in group.nodes.values()} == {("mine",)}


def test_what_is_said_without_a_slot_waits_and_is_not_lost() -> None:
    group = Group(*THREE, members=False)
    assert group["bob"].engine.say("before I am let in", group.now) is None
    group.carry(group["bob"])
    group["bob"].boot(group.now)
    group["bob"].engine.join(group.data_set, [group["alice"].id], group.now)
    group["alice"].engine.invite(key_of(1), group.now)
    group.carry(group["alice"])
    group.settle()
    assert group["alice"].texts() == ["before I am let in"]


def test_t_038_t_047_t_051_silence_removal_and_what_was_written_meanwhile() -> None:
    """A silent member is removed by the others; its posts come back when it does, each once."""
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


def test_t_039_a_member_that_is_heard_stays() -> None:
    """It comes back before the others agree, and nobody is removed."""
    group = Group(*THREE, rounds=8)
    group["carol"].up = False
    for number in range(4):
        group.say(("alice", "bob")[number % 2], f"post {number}")
    group["carol"].up = True
    group.settle()
    assert len(group["alice"].engine.members()) == 3
    assert all(view.settled for view in group["carol"].engine.posts())


def test_a_member_that_answers_is_not_silent_in_a_busy_room() -> None:
    """Posts come faster than heartbeats, and chance makes others write them: it says in time that it is here."""
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
    """T-049: one of two is no majority."""
    group = Group("alice", "bob")
    group["bob"].up = False
    group.say("alice", *[f"post {number}" for number in range(20)])
    group.settle(60_000)
    assert len(group["alice"].engine.members()) == 2
    group["bob"].up = True
    group.settle()
    assert len(group["bob"].texts()) == 20


def test_leaving() -> None:
    group = Group(*THREE)
    group["bob"].engine.leave(group.now)
    group.carry(group["bob"])
    with pytest.raises(ValueError, match="left"):
        group["bob"].engine.say("one more thing", group.now)
    group.settle()
    assert group["bob"].engine.me is None
    assert [one.slot for one in group["alice"].engine.members()] == [0, 2]
    group.say("carol", "still here")
    group.settle()
    assert all(view.settled for view in group["alice"].engine.posts())


def test_delivery_is_told_in_steps() -> None:
    group = Group(*THREE, rounds=8)
    engine = group["alice"].engine
    group["bob"].up = group["carol"].up = False
    name = engine.say("hello", group.now)
    assert name is not None
    words = [engine.delivery(name).word]
    group.carry(group["alice"])
    group.settle(15_000)
    words.append(engine.delivery(name).word)
    group["bob"].up = group["carol"].up = True
    group.settle()
    words.append(engine.delivery(name).word)
    assert words[0] in ("sent", "queued", "written")
    assert words[1:] == ["written", "settled"]
    assert engine.delivery(name).known == 3


def test_a_restarted_engine_goes_on_where_it_was() -> None:
    group = Group(*THREE)
    for number in range(15):
        group.say(THREE[number % 3], f"post {number}")
        node = group[THREE[(number + 1) % 3]]
        before = node.engine.snapshot()
        assert node.boot(group.now).snapshot() == before
    group.settle()
    assert {tuple(node.texts()) for node in group.nodes.values()} == {tuple(group["alice"].texts())}
    assert len(group["alice"].texts()) == 15


def test_a_quiet_room_is_quiet() -> None:
    group = Group(*THREE)
    group.say("alice", "hello")
    group.settle()
    written = group["alice"].engine.members()
    before = group.packets
    group.settle(60_000)
    assert group["alice"].engine.members() == written, "no operation"
    assert group.packets - before <= 3 * 2 * 60_000 // 2000 + 6, "a Sync and its answer every other second for each"


def test_t_052_work_is_spread_over_all_members() -> None:
    """All posts are of one author; the writers are those nearest to their ids."""
    group = Group("alice", "bob", "carol", "dora", redundancy=1)
    group.say("alice", *[f"post {number}" for number in range(60)])
    wrote = [one.seq for one in group["alice"].engine.members()]
    assert min(wrote) > 15


def test_sync_of_ten_among_thousands_costs_little() -> None:
    """Statement 6: the cost follows what differs, not the history."""
    group = Group("alice", "bob")
    for _ in range(400):
        group["alice"].engine.say("a post", group.now)
        group.carry(group["alice"])
    group.settle()
    group["bob"].up = False
    group.say("alice", *[f"post {number}" for number in range(10)])
    group.settle()
    before = group.bytes
    group["bob"].up = True
    group.settle(10_000)
    assert len(group["bob"].texts()) == 410
    assert group.bytes - before < 20_000


# Refusals.


def forged(group: Group, sender: str, operation: Operation, **changes: Any) -> Operation:
    body = operation.body._replace(**changes)
    raw = CODEC.encode_operation(body)
    signature = sign_with(group[sender].key)(operation_bytes(group.data_set, raw))
    return Operation(body, raw, signature)


def pushed(group: Group, sender: str, text: str) -> Operation:
    """Return the next operation of a member, which only it has."""
    node = group[sender]
    for _ in range(20):
        node.engine.say(text, group.now)
        ready = node.engine.take()
        node.store.apply(ready.writes)
        if found := _operations(ready.packets):
            return found[-1]
    raise AssertionError("wrote nothing")


def sync(group: Group, *operations: Operation) -> Sync:
    return Sync(CheckpointMark(0, b""), (), bytes(32), operations)


def reasons(group: Group, to: str, message: Message | Refusal, sender: str) -> set[Reason]:
    before = dict(group[to].engine.refusals)
    rows = dict(group[to].store.rows)
    group[to].engine.receive(group[sender].id, message, group.now)
    ready = group[to].engine.take()
    group[to].store.apply(ready.writes)
    after = group[to].engine.refusals
    found = {reason for reason in after if after[reason] != before.get(reason, 0)}
    assert not found or group[to].store.rows == rows, "what is refused changes nothing"
    return found


def test_statement_5_forged_replayed_and_unsigned_operations_change_nothing() -> None:
    group = Group(*THREE, **AT_ONCE)
    operation = pushed(group, "bob", "from bob")
    body = operation.body
    unsigned = Operation(body, operation.raw, bytes(64))
    assert reasons(group, "alice", sync(group, unsigned), "bob") == {Reason.SIGNATURE}
    other = forged(group, "carol", operation)
    assert reasons(group, "alice", sync(group, other), "carol") == {Reason.SIGNATURE}
    wrong = {
        Reason.PARENT: forged(group, "bob", operation, parent=bytes(32)),
        Reason.CHECKSUM: forged(group, "bob", operation, checksum=bytes(32)),
        Reason.TURN: forged(group, "bob", operation, turn=99),
        Reason.CLOCK: forged(group, "bob", operation, delta=((0, 1),)),
    }
    for reason, one in wrong.items():
        assert reasons(group, "alice", sync(group, one), "bob") == {reason}
    assert body.event is not None
    theirs = body.event._replace(signature=bytes(64))
    assert reasons(group, "alice", sync(group, forged(group, "bob", operation, event=theirs)), "bob") == {
        Reason.SIGNATURE
    }
    stranger = signed_event(group.data_set, key_of(9), EventBody(Kind.SAY, 9, 1, 0, "me too"))
    assert reasons(group, "alice", sync(group, forged(group, "bob", operation, event=stranger)), "bob") == {
        Reason.NOT_AUTHOR
    }
    assert reasons(group, "alice", sync(group, operation), "bob") == set()
    assert reasons(group, "alice", sync(group, operation), "bob") == set(), "a replay is known"


def test_two_operations_of_one_number_are_found_and_named() -> None:
    group = Group(*THREE, **AT_ONCE)
    operation = pushed(group, "bob", "one story")
    other = forged(group, "bob", operation, event=None)
    assert reasons(group, "alice", sync(group, operation), "bob") == set()
    group["alice"].engine.receive(group["bob"].id, sync(group, other), group.now)
    found = [one for one in group["alice"].engine.take().events if isinstance(one, Forked)]
    assert [(one.slot, one.seq, one.held, one.other) for one in found] == [(1, operation.body.seq, operation, other)]


def test_after_a_leave_nothing_is_written() -> None:
    group = Group(*THREE, **AT_ONCE)
    bob = group["bob"]
    bob.engine.leave(group.now)
    leave = _operations(bob.engine.take().packets)[-1]
    group.deliver("alice", sync(group, leave), "bob")
    body = leave.body
    following = forged(group, "bob", leave, seq=body.seq + 1, parent=_id(group, leave), delta=())
    assert reasons(group, "alice", sync(group, following), "bob") == {Reason.AFTER_LEAVE}


def _operations(packets: tuple[Packet, ...]) -> list[Operation]:
    return [one for packet in packets if isinstance(packet.message, Sync) for one in packet.message.operations]


def _id(group: Group, operation: Operation) -> bytes:
    return operation_id(group.data_set, operation.raw)


def test_strangers_and_states_that_do_not_fit() -> None:
    group = Group(*THREE, "mallory", members=False)
    group["alice"].engine.invite(key_of(1), group.now)
    group.carry(group["alice"])
    group.settle()
    assert reasons(group, "alice", sync(group), "mallory") == {Reason.STRANGER}
    assert reasons(group, "alice", Submit(()), "mallory") == {Reason.STRANGER}
    assert reasons(group, "alice", StateWanted(0, 0), "mallory") == {Reason.STRANGER}
    page = StatePage(CheckpointMark(10**6, bytes(32)), 0, 1, b"no state")
    assert reasons(group, "alice", page, "mallory") == {Reason.STRANGER}
    assert reasons(group, "alice", page, "bob") == {Reason.UNREADABLE}
    late = StatePage(CheckpointMark(10**6, bytes(32)), 3, 5, b"page")
    assert reasons(group, "alice", late, "bob") == {Reason.OTHER_STATE}
    assert reasons(group, "alice", Refusal(Reason.TOO_MANY, "operations"), "bob") == {Reason.TOO_MANY}


def test_t_056_t_057_a_member_that_sends_events_elsewhere_is_told() -> None:
    group = Group("alice", "bob", "carol", "dora", redundancy=1)
    refused = 0
    for number in range(1, 9):
        event = signed_event(group.data_set, group["bob"].key, EventBody(Kind.SAY, 1, number, 0, f"post {number}"))
        refused += reasons(group, "carol", Submit((event,)), "dora") == {Reason.MISROUTED}
    assert 1 <= refused <= 8
    group.wire.clear()


def test_buffers_are_bounded() -> None:
    group = Group(*THREE, **AT_ONCE)
    operation = pushed(group, "bob", "x")
    for start in range(0, 5000, 500):
        gap = tuple(forged(group, "bob", operation, seq=operation.body.seq + 2 + start + n) for n in range(500))
        group["alice"].engine.receive(group["bob"].id, sync(group, *gap), group.now)
    assert group["alice"].engine.refusals[Reason.BUFFER_FULL] > 0
    group.wire.clear()
    group["alice"].engine.take()
    group.settle()
    group.say("carol", "nobody else is hurt")
    group.settle()
    assert "nobody else is hurt" in group["alice"].texts()


def test_wrong_use_is_told() -> None:
    group = Group("alice", "bob", members=False)
    alice, bob = group["alice"].engine, group["bob"].engine
    with pytest.raises(ValueError, match="data set already"):
        alice.found(b"", group.now)
    with pytest.raises(ValueError, match="another data set"):
        alice.join(bytes(32), [], group.now)
    with pytest.raises(ValueError, match="only a member"):
        bob.invite(key_of(5), group.now)
    with pytest.raises(ValueError, match="only a member"):
        bob.leave(group.now)
    alice.invite(group["bob"].key, group.now)
    with pytest.raises(ValueError, match=r"timber\.rounds is 0"):
        Config(rounds=0)
