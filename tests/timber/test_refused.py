"""Messages and calls that the engine of a data set refuses: they change nothing."""

from __future__ import annotations

from typing import Any

import pytest

from sdschat.timber import limits
from sdschat.timber.config import Config
from sdschat.timber.events import Forked, MemberChanged, Rejected, Wait
from sdschat.timber.limits import INBOX_PER_AUTHOR, MAX_INVITATIONS, MAX_TEXT_BYTES
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
    Statements,
    StatePage,
    StateWanted,
    Submit,
    Sync,
    distance,
    event_id,
    operation_bytes,
    operation_id,
)
from tests.timber.group import Group
from tests.timber.world import CODEC, key_of, sign_with, signed_event

THREE = ("alice", "bob", "carol")
AT_ONCE: dict[str, Any] = {"redundancy": 3, "stagger": 0}  # everybody writes its own events


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
    """T-016: "If each operation includes a checksum of the tree and the last known operation" differs: the hash is over
    the operations that it names.

    T-020: "Writes are restricted to a set of peers called "the committee"." writers have a slot, which the checkpoint
    gives.

    T-022: "each operation is signed by the author's private key." its writer signs the operation, its author the event
    in it.
    """
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
    """T-020: "Writes are restricted to a set of peers called "the committee"." writers have a slot, which the
    checkpoint gives.
    """
    group = Group(*THREE, "mallory", members=False)
    group["alice"].engine.invite(key_of(1), group.now)
    group.carry(group["alice"])
    group.settle()
    assert reasons(group, "alice", sync(group), "mallory") == {Reason.STRANGER}
    assert reasons(group, "alice", Submit(()), "mallory") == {Reason.STRANGER}
    assert reasons(group, "alice", StateWanted(0, 0), "mallory") == {Reason.STRANGER}
    page = StatePage(CheckpointMark(10**6, bytes(32)), 0, 1, b"no state")
    assert reasons(group, "alice", page, "mallory") == {Reason.STRANGER}
    assert reasons(group, "alice", page, "bob") == {Reason.OTHER_STATE}, "she is a member"
    group.deliver("carol", Sync(page.mark, ((0, 1),), bytes(32), ()), "alice")
    assert reasons(group, "carol", page, "alice") == {Reason.UNREADABLE}
    late = StatePage(CheckpointMark(10**6, bytes(32)), 3, 5, b"page")
    assert reasons(group, "alice", late, "bob") == {Reason.OTHER_STATE}
    assert reasons(group, "alice", Refusal(Reason.TOO_MANY, "operations"), "bob") == {Reason.TOO_MANY}


def test_t_056_t_057_a_member_that_sends_events_elsewhere_is_told() -> None:
    """T-056: "If you find n members that would've been a better match, either reject it or forward the update to the
    correct members." rejected where it is not from its author, who goes on to those further away, and reminds the
    nearest through them.

    T-057: "If the sender is also in the committee then they should know better."

    T-075: "It's symmetric and deterministic, and it can be checked by other participants."
    """
    group = Group("alice", "bob", "carol", "dora", redundancy=1)
    refused: dict[str, bool] = {}
    for number in range(1, 9):
        event = signed_event(group.data_set, group["bob"].key, EventBody(Kind.SAY, 1, number, 0, f"post {number}"))
        nearest = min(group.by_id, key=lambda one: distance(event_id(group.data_set, event.raw), one))
        found = reasons(group, "carol", Submit((event,)), "dora")
        assert found == ({Reason.MISROUTED} if nearest != group["carol"].id else set())
        refused[f"post {number}"] = bool(found)
    assert 1 <= sum(refused.values()) < 8
    group.settle()
    assert set(group["alice"].texts()) == {text for text, was_refused in refused.items() if not was_refused}


def test_so_many_refusals_are_reported_in_a_minute() -> None:
    """Each was a line. Of the further ones it is told how many there were."""
    group = Group(*THREE, **AT_ONCE)
    alice, operation = group["alice"], pushed(group, "bob", "x")
    for seq in range(500):
        unsigned = Operation(
            operation.body._replace(seq=seq + 10), operation.raw + bytes((seq % 256, seq >> 8)), bytes(64)
        )
        group.deliver("alice", sync(group, unsigned), "bob")
    assert [one.reason for one in alice.heard(Rejected)] == [Reason.SIGNATURE] * 20
    group.settle(70_000)
    found = alice.heard(Rejected)[20:]
    assert [(one.peer, one.times) for one in found if one.reason is Reason.SIGNATURE] == [(b"", 480)]


def test_a_member_that_invites_without_end_does_not_make_others_send_without_end() -> None:
    """Each operation went to each of the invited, who need not exist."""
    group = Group(*THREE, **AT_ONCE)
    core = group["carol"].engine._core
    for number in range(MAX_INVITATIONS + 100):
        body = EventBody(Kind.INVITE, 2, number + 1, 0, "", None, key_of(1000 + number))
        core.write(signed_event(group.data_set, group["carol"].key, body), Statements())
    ready = group["carol"].engine.take()
    group.deliver("alice", sync(group, *core.unsent, *_operations(ready.packets)), "carol")
    start = len(group["alice"].sent)
    group["alice"].engine.say("hello", group.now)
    group.carry(group["alice"])
    pushed_to = {packet.peer for packet in group["alice"].sent[start:]}
    assert len(pushed_to) <= 2 + MAX_INVITATIONS


def test_events_of_an_author_beyond_its_share_are_not_passed_on() -> None:
    """Each was, to the members nearest to it, also where there was no room for it."""
    group = Group("alice", "bob", "carol", stagger=3_600_000, redundancy=1)
    bob, carol = group["bob"], group["carol"]

    def submitted(number: int) -> Submit:
        body = EventBody(Kind.SAY, carol.engine.me or 0, number, 0, f"post {number}")
        return Submit((signed_event(group.data_set, carol.key, body),))

    for number in range(INBOX_PER_AUTHOR):
        bob.engine.receive(carol.id, submitted(number + 10), group.now)
    bob.engine.take()
    for number in range(40):
        bob.engine.receive(carol.id, submitted(number + 5000), group.now)
    ready = bob.engine.take()
    assert [one.times for one in ready.events if isinstance(one, Rejected)] == [40]
    assert [one for one in ready.packets if isinstance(one.message, Submit)] == []


@pytest.mark.parametrize("kind", list(Kind))
def test_nobody_writes_for_another_what_everybody_refuses(kind: Kind) -> None:
    """A second genesis, sent by a member, made whoever wrote it unheard from there on, and it did not start again."""
    group = Group(*THREE, **AT_ONCE)
    bob, carol = group["bob"], group["carol"]
    target = PostId(0, 1) if kind in (Kind.EDIT, Kind.DELETE) else None
    key = group["alice"].key if kind in (Kind.GENESIS, Kind.INVITE) else b""
    event = signed_event(group.data_set, carol.key, EventBody(kind, 2, 1, 0, "", target, key))
    message = CODEC.decode(CODEC.encode(Submit((event,))))
    assert isinstance(message, Submit)
    group.deliver("bob", message, "carol")
    group.say("bob", "still heard")
    group.settle()
    assert group["alice"].texts()[-1] == "still heard"
    assert group["alice"].engine.refusals.get(Reason.MALFORMED, 0) == 0
    bob.boot(group.now)
    assert bob.texts()[-1] == "still heard"


def test_t_024_an_operation_of_a_slot_that_is_not_given_waits() -> None:
    """T-024: "They're marked pending and the new collaborators still can't write." operations of a slot that the
    checkpoint has not given yet wait.
    """
    group = Group(*THREE, "mallory", members=False)
    for number in (1, 2):
        group["alice"].engine.invite(key_of(number), group.now)
        group.carry(group["alice"])
        group.settle()
    group["bob"].up = group["carol"].up = False
    group["alice"].engine.invite(key_of(3), group.now)
    group.carry(group["alice"])
    held = list(group["alice"].engine.operations())
    first = held[-1].operation
    early = forged(group, "mallory", first, slot=3, seq=1, parent=held[-1].id, delta=(), event=None)
    assert reasons(group, "alice", sync(group, early), "bob") == set()
    assert list(group["alice"].engine.operations()) == held
    assert list(group["alice"].engine._core.intake.waiting.values()) == [Wait(3, 0)]


def test_buffers_are_bounded() -> None:
    group = Group(*THREE, rounds=8, **AT_ONCE)  # what is lost below makes nobody silent
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


def test_an_invitation_of_a_member_changes_nothing_for_it() -> None:
    """The engine makes none. Written all the same, it gives a second slot, which ends by silence."""
    group = Group("ann", "bob", "cas", rounds=6)
    core = group["cas"].engine._core
    body = EventBody(Kind.INVITE, 2, 1, 0, "", None, group["bob"].key, 1)
    core.write(signed_event(group.data_set, group["cas"].key, body), Statements())
    group["cas"].engine.advance(group.now)
    group.carry(group["cas"])
    for number in range(12):
        for name in ("ann", "bob", "cas"):
            group.say(name, f"{number}")
    ann = group["ann"].engine
    assert [slot.why for slot in ann._core.replica.committee.slots] == ["", "", "", "removed"]
    assert not ann.put_out(group["bob"].id)
    assert "removed" not in [one.status for one in group["ann"].heard(MemberChanged)]
    assert group["bob"].texts() == group["ann"].texts()


def test_a_text_that_nobody_would_read_is_not_taken() -> None:
    """It was written. The others refused it, and whatever followed; and its author did not start again."""
    group = Group("ann", "bob", **AT_ONCE)
    ann, longest = group["ann"], "ü" * (MAX_TEXT_BYTES // 2)
    with pytest.raises(ValueError, match="a post has room for 65,536 bytes, and this text has 65,537"):
        ann.engine.say(longest + "x", group.now)
    group.say("ann", longest)
    post = ann.engine.posts()[0].post.name
    with pytest.raises(ValueError, match="room for"):
        ann.engine.edit(post, longest + "x", group.now)
    group.settle()
    assert group["bob"].texts() == [longest]
    ann.boot(group.now)
    assert ann.texts() == [longest]


def test_a_waiting_post_is_as_long_as_others_at_most() -> None:
    group = Group("ann", "bob", members=False)
    bob = group["bob"].engine
    bob.say("short", group.now)
    with pytest.raises(ValueError, match="room for"):
        bob.say("x" * (MAX_TEXT_BYTES + 1), group.now)
    with pytest.raises(ValueError, match="room for"):
        bob.edit_draft(1, "x" * (MAX_TEXT_BYTES + 1))
    assert [draft.text for draft in bob.drafts()] == ["short"]


def test_no_more_memberships_are_given_than_operations_can_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a further member wrote would not be readable."""
    monkeypatch.setattr(limits, "MAX_SLOTS", 3)
    group = Group("ann", "bob", "cas", "dan")
    assert [one.slot for one in group["ann"].engine.members()] == [0, 1, 2]
    group.say("bob", "goes on")
    group.settle()
    assert group["ann"].texts() == ["goes on"]
    assert group["ann"].engine.refusals.get(Reason.MALFORMED, 0) == 0


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
