"""Send Message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.values import AckState, Append, HistoryEntry, Message, Now
from tests.sds.group import QUIET, START, Group, forge


def ids(message: Message) -> list[str]:
    return [entry.message_id for entry in message.causal_history]


def test_s_019_lamport_is_now_when_the_clock_is_behind() -> None:
    """Spec: "the participant MUST set its local Lamport timestamp to the maximum between the current value + `1` and
    the current epoch time in milliseconds."

    Here: the wall clock may jump back."""
    group = Group("a")
    group.now = Now(START + 5000, group.now.mono + 5000)
    assert group.send("a", "one").lamport_timestamp == START + 5000


def test_s_019_lamport_is_current_plus_one_when_the_clock_is_ahead() -> None:
    """Spec: "the participant MUST set its local Lamport timestamp to the maximum between the current value + `1` and
    the current epoch time in milliseconds."
    """
    group = Group("a")
    group.give("a", forge("b", "m1", START + 9000))
    assert group.send("a", "one").lamport_timestamp == START + 9001


def test_s_019_a_wall_clock_set_back_does_not_set_the_lamport_clock_back() -> None:
    """Spec: "the participant MUST set its local Lamport timestamp to the maximum between the current value + `1` and
    the current epoch time in milliseconds."
    """
    group = Group("a")
    group.now = Now(START - 86_400_000, group.now.mono)
    assert group.send("a", "one").lamport_timestamp == START + 1


def test_s_020_the_increased_lamport_is_in_the_message() -> None:
    """Spec: "the participant MUST include the increased Lamport timestamp in the message's `lamport_timestamp`
    field."
    """
    group = Group("a")
    message = group.send("a", "one")
    assert message.lamport_timestamp == group["a"].channel.state.clock.value


def test_s_021_the_preceding_ids_are_named_oldest_first() -> None:
    """Spec: "the participant MUST determine the preceding few message IDs in the local history and include these in an
    ordered list in the `causal_history` field."

    Here: the heads of the log, then the newest messages, oldest first; senders are named where SDS-R is on."""
    group = Group("a", "b")
    first, second = group.say("a", "one"), group.say("b", "two")
    assert ids(group.send("a", "three")) == [first.message_id, second.message_id]


def test_s_021_concurrent_branches_are_both_named() -> None:
    """Spec: "the participant MUST determine the preceding few message IDs in the local history and include these in an
    ordered list in the `causal_history` field."
    """
    group = Group("a")
    group.give("a", forge("b", "left", START + 1))
    group.give("a", forge("c", "right", START + 2))
    group.give("a", forge("c", "right-2", START + 3, "right"))
    assert ids(group.send("a", "merge")) == ["left", "right-2"]


def test_s_021_the_first_message_names_nothing() -> None:
    """Spec: "the participant MUST determine the preceding few message IDs in the local history and include these in an
    ordered list in the `causal_history` field."
    """
    assert ids(Group("a").send("a", "one")) == []


@pytest.mark.parametrize("repairs", [True, False])
def test_s_021_senders_are_named_only_with_sds_r(repairs: bool) -> None:
    """Spec: "the participant MUST determine the preceding few message IDs in the local history and include these in an
    ordered list in the `causal_history` field."
    """
    group = Group("a", config=replace(QUIET, repair_enabled=repairs), settle=2000)
    group.give("a", forge("b", "m1", START + 1))
    group.send("a", "two")
    group.tick(2 * QUIET.sync_interval)
    named = [entry.sender_id for kind in ("message", "sync") for entry in group["a"].messages(kind)[-1].causal_history]
    assert named == (["b", "b", "a"] if repairs else [None, None, None])


def test_s_022_two_ids_are_named_by_default() -> None:
    """Spec: "We recommend a causal history of two message IDs."

    Here: two by default, 1 to 10 by setting."""
    group = Group("a")
    for text in ("one", "two", "three"):
        group.send("a", text)
    assert len(ids(group.send("a", "four"))) == 2


def test_s_022_the_number_is_a_setting() -> None:
    """Spec: "We recommend a causal history of two message IDs." """
    group = Group("a", config=replace(QUIET, causal_history=3))
    for text in ("one", "two", "three", "four"):
        group.send("a", text)
    assert len(ids(group.send("a", "five"))) == 3


def test_s_023_a_known_retrieval_hint_is_included() -> None:
    """Spec: "the participant MAY include a `retrieval_hint` in the `HistoryEntry` for each message ID in the
    `causal_history` field."

    Here: the first hint learnt is passed on, 64 bytes at most."""
    group = Group("a")
    first = group.send("a", "one")
    group["a"].channel.learn_hint(first.message_id, b"where")
    (entry,) = group.send("a", "two").causal_history
    assert entry.retrieval_hint == b"where"


def test_s_023_a_hint_learnt_from_another_is_passed_on() -> None:
    """Spec: "the participant MAY include a `retrieval_hint` in the `HistoryEntry` for each message ID in the
    `causal_history` field."
    """
    group = Group("a", "b")
    first = group.say("a", "one")
    group["a"].channel.learn_hint(first.message_id, b"where")
    second = group.say("a", "two")
    hints = {entry.message_id: entry.retrieval_hint for entry in group.send("b", "three").causal_history}
    assert hints == {first.message_id: b"where", second.message_id: None}


def test_s_023_a_hint_of_what_was_missing_is_passed_on() -> None:
    """Spec: "the participant MAY include a `retrieval_hint` in the `HistoryEntry` for each message ID in the
    `causal_history` field."
    """
    group = Group("a", settle=2000)
    child = Message("b", "m2", "lobby", START + 2, (HistoryEntry("m1", b"where", "b"),), content=b"text")
    group.give("a", child)
    group.give("a", forge("b", "m1", START + 1))
    hints = {entry.message_id: entry.retrieval_hint for entry in group.send("a", "three").causal_history}
    assert hints == {"m1": b"where", "m2": None}


def test_s_024_the_current_filter_is_in_the_message() -> None:
    """Spec: "the participant MUST include the current `bloom_filter` state in the broadcast message."

    Here: the filter as it is before the message itself is added."""
    group = Group("a")
    for message_id in ("m1", "m2"):
        group.give("a", forge("b", message_id, START + 1))
        found = read_filter(group.send("a", f"after {message_id}").bloom_filter or b"")
        assert not isinstance(found, str)
        assert found.holds(message_id)


def test_s_024_a_filter_never_holds_its_own_message() -> None:
    """Spec: "the participant MUST include the current `bloom_filter` state in the broadcast message." """
    message = Group("a").send("a", "one")
    assert message.bloom_filter is not None
    received = read_filter(message.bloom_filter)
    assert not isinstance(received, str)
    assert not received.holds(message.message_id)


def test_s_025_a_sent_message_is_unacknowledged() -> None:
    """Spec: "After broadcasting a message, the message MUST be added to the participant's buffer of unacknowledged
    outgoing messages."

    Here: saved in the same transaction as the message, before the packet leaves."""
    group = Group("a")
    message = group.send("a", "one")
    assert group["a"].channel.state.outgoing.open[message.message_id].state is AckState.UNACKED


def test_s_025_what_is_sent_is_in_the_writes_that_come_before_the_packet() -> None:
    """Spec: "After broadcasting a message, the message MUST be added to the participant's buffer of unacknowledged
    outgoing messages."
    """
    group = Group("a")
    message = group["a"].channel.send(group.now, b"one")
    ready = group["a"].channel.take()
    appended = [write.row.entry.message_id for write in ready.writes if isinstance(write, Append)]
    assert appended == [packet.message_id for packet in ready.packets] == [message.message_id]
