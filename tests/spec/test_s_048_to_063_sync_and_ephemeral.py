"""Periodic Sync Message, Ephemeral Messages."""

from __future__ import annotations

from dataclasses import replace

from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.config import Config
from sdschat.sds.events import EphemeralReceived, RepairRequested, StateChanged, SyncReceived, SyncSent
from sdschat.sds.values import AckState, ChannelRow, IncomingRow, Message, Put
from tests.sds.group import CODEC, QUIET, START, Group, forge

CHATTY = replace(QUIET, sync_interval=30_000)


def synced(group: Group, name: str = "a") -> Message:
    """The newest sync message of a node."""
    return group[name].messages("sync")[-1]


def test_s_048_sync_messages_are_sent_periodically() -> None:
    """Spec: "For each channel of communication, participants SHOULD periodically send sync messages to maintain
    state."

    Here: every 15 to 45 s by default; none while offline."""
    group = Group("a", config=CHATTY)
    group.tick(10 * 60_000)
    assert 600 / 45 - 1 <= len(group["a"].messages("sync")) <= 600 / 15 + 1


def test_s_048_offline_there_are_none() -> None:
    """Spec: "For each channel of communication, participants SHOULD periodically send sync messages to maintain
    state."
    """
    group = Group("a", config=CHATTY, settle=5000)
    group.offline("a")
    before = len(group["a"].sent)
    group.tick(10 * 60_000)
    assert len(group["a"].sent) == before


def test_s_049_sync_messages_have_empty_content() -> None:
    """Spec: "MUST be sent with empty content" """
    group = Group("a", settle=5000)
    assert synced(group).content is None


def test_s_050_the_lamport_of_a_sync_is_now_or_current_plus_one() -> None:
    """Spec: "MUST include a Lamport timestamp increased to `max(timeNowInMs, current_lamport_timestamp + 1)`, where
    `timeNowInMs` is the current epoch time in milliseconds."

    Here: kept across restarts."""
    group = Group("a", config=CHATTY, settle=5000)
    before = len(group["a"].messages("sync"))
    group.give("a", forge("b", "m1", START + 100_000))
    group.tick(45_000)
    first = group["a"].messages("sync")[before]
    assert first.lamport_timestamp == START + 100_001
    group.tick(200_000)
    assert START + 100_001 < (synced(group).lamport_timestamp or 0) <= group.now.wall


def test_s_050_the_raised_clock_outlives_a_restart() -> None:
    """Spec: "MUST include a Lamport timestamp increased to `max(timeNowInMs, current_lamport_timestamp + 1)`, where
    `timeNowInMs` is the current epoch time in milliseconds."
    """
    group = Group("a", settle=5000)
    group.crash("a")
    assert group["a"].channel.state.clock.value == synced(group).lamport_timestamp


def test_s_051_sync_messages_carry_causal_history_and_filter() -> None:
    """Spec: "MUST include causal history and bloom filter according to regular message rules"

    Here: compact filters also carry a fingerprint of a range of the history."""
    group = Group("a", config=CHATTY)
    message = group.send("a", "one")
    group.tick(50_000)
    sync = synced(group)
    assert [entry.message_id for entry in sync.causal_history] == [message.message_id]
    assert sync.bloom_filter is not None
    received = read_filter(sync.bloom_filter)
    assert not isinstance(received, str)
    assert received.holds(message.message_id)


def test_s_052_sync_messages_are_not_in_the_outgoing_buffer() -> None:
    """Spec: "MUST NOT be added to the unacknowledged outgoing buffer" """
    group = Group("a", settle=5000)
    assert group["a"].messages("sync")
    assert group["a"].channel.state.outgoing.open == {}


def test_s_053_sync_messages_are_not_in_causal_histories() -> None:
    """Spec: "MUST NOT be included in causal histories of subsequent messages" """
    group = Group("a", "b", settle=5000)
    assert group["b"].messages("sync")
    assert group.send("a", "one").causal_history == ()


def test_s_054_sync_messages_are_not_in_filters() -> None:
    """Spec: "MUST NOT be included in bloom filters" """
    group = Group("a", "b", settle=5000)
    for node in group.nodes.values():
        received = read_filter(node.channel.state.filter.to_bytes())
        assert not isinstance(received, str)
        assert not any(received.holds(synced(group, other).message_id) for other in ("a", "b"))


def test_s_055_sync_messages_are_not_in_the_log() -> None:
    """Spec: "MUST NOT be added to the local log" """
    group = Group("a", "b", settle=5000)
    assert [len(node.of(SyncReceived)) for node in group.nodes.values()] == [1, 1]
    assert group["a"].log == group["b"].log == []


def test_s_056_sync_messages_with_one_id_all_count() -> None:
    """Spec: "Since sync messages are not persisted, they MAY have non-unique message IDs without impacting the
    protocol."

    Here: our ids differ; the ids of received sync messages are not compared."""
    group = Group("a")
    one, two = group.send("a", "one"), group.send("a", "two")
    group.give("a", forge("b", "same", START + 10, one.message_id, content=None))
    group.give("a", forge("b", "same", START + 11, two.message_id, content=None))
    assert group["a"].channel.state.outgoing.open == {}


def test_s_056_our_own_sync_ids_are_all_different() -> None:
    """Spec: "Since sync messages are not persisted, they MAY have non-unique message IDs without impacting the
    protocol."
    """
    group = Group("a", config=CHATTY)
    group.tick(10 * 60_000)
    ids = [message.message_id for message in group["a"].messages("sync")]
    assert len(set(ids)) == len(ids) > 5


def test_s_057_others_traffic_puts_a_sync_off() -> None:
    """Spec: "To avoid network activity bursts in large groups, a participant MAY choose to only send periodic sync
    messages if no other messages have been broadcast in the channel after a random backoff period."

    Here: traffic of others delays it by a random time, up to two and a half intervals; in a group of up to nine a live
    message does not, because its author waits to hear that it came."""

    def syncs(spoken_to: bool) -> int:
        group = Group("a", config=CHATTY, settle=2000)
        wait = group["a"].channel.state.sync.due - group.now.mono
        group.tick(wait - 1)
        if spoken_to:
            group.give("a", forge("b", "s1", group.now.wall, content=None))
        group.tick(2)
        return len(group["a"].messages("sync"))

    assert syncs(spoken_to=False) == 2
    assert syncs(spoken_to=True) == 1


def test_s_057_but_not_for_ever() -> None:
    """Spec: "To avoid network activity bursts in large groups, a participant MAY choose to only send periodic sync
    messages if no other messages have been broadcast in the channel after a random backoff period."
    """
    group = Group("a", config=CHATTY, settle=2000)
    for place in range(80):
        group.give("a", forge("b", f"m{place}", group.now.wall))
        group.tick(1000)
    assert len(group["a"].messages("sync")) > 1


def test_s_057_the_back_off_differs_between_participants() -> None:
    """Spec: "To avoid network activity bursts in large groups, a participant MAY choose to only send periodic sync
    messages if no other messages have been broadcast in the channel after a random backoff period."
    """
    dues = {Group(name)[name].channel.state.sync.due for name in ("a", "b", "c", "d")}
    assert len(dues) > 1


def test_s_058_the_causal_history_of_a_sync_acknowledges() -> None:
    """Spec: "Participants MUST process the causal history and bloom filter of these sync messages following the same
    steps as regular messages"

    Here: the same code as for messages; dependencies that they name and we lack are asked for."""
    group = Group("a")
    message = group.send("a", "one")
    group.give("a", forge("b", "s1", START + 10, message.message_id, content=None))
    assert group["a"].of(StateChanged)[-1].state is AckState.ACKED


def test_s_058_the_filter_of_a_sync_possibly_acknowledges() -> None:
    """Spec: "Participants MUST process the causal history and bloom filter of these sync messages following the same
    steps as regular messages"
    """
    group = Group("a")
    message = group.send("a", "one")
    held = Group("b")["b"].channel.state.filter
    held.add(message.message_id, START)
    group.give("a", forge("b", "s1", START + 10, content=None, bloom_filter=held.to_bytes()))
    assert group["a"].of(StateChanged)[-1].state is AckState.POSSIBLY_ACKED


def test_s_058_dependencies_named_by_a_sync_are_missing() -> None:
    """Spec: "Participants MUST process the causal history and bloom filter of these sync messages following the same
    steps as regular messages"
    """
    group = Group("a")
    group.give("a", forge("b", "s1", START + 10, "m1", content=None))
    assert list(group["a"].channel.state.requests.missing) == ["m1"]


def test_s_058_a_sync_moves_no_clock() -> None:
    """Spec: "Participants MUST process the causal history and bloom filter of these sync messages following the same
    steps as regular messages"
    """
    group = Group("a")
    group.give("a", forge("b", "s1", START + 777, content=None))
    assert group["a"].channel.state.clock.value == START


def test_s_059_a_received_sync_is_never_kept() -> None:
    """Spec: "but MUST NOT persist the sync messages themselves." """
    group = Group("a")
    group.give("a", forge("b", "s1", START + 10, "m1", content=None))
    kept = [write.row for write in group["a"].writes if isinstance(write, Put)]
    assert not any(isinstance(row, IncomingRow) for row in kept)
    assert group["a"].channel.state.incoming.buffered == {}
    assert group["a"].log == []


def test_s_059_the_clock_of_a_received_sync_is_not_adopted() -> None:
    """Spec: "but MUST NOT persist the sync messages themselves." """
    group = Group("a", settle=5000)
    before = group["a"].channel.state.clock.value
    group.give("a", forge("b", "s1", before + 60_000, content=None))
    assert group["a"].of(SyncReceived)
    assert group["a"].channel.state.clock.value == before


def test_s_059_of_a_sent_sync_only_the_clock_and_the_timer_are_kept() -> None:
    """Spec: "but MUST NOT persist the sync messages themselves." """
    group = Group("a", settle=5000)
    assert group["a"].of(SyncSent)
    assert {type(write.row) for write in group["a"].writes if isinstance(write, Put)} == {ChannelRow}


def test_s_060_ephemeral_messages_can_be_sent() -> None:
    """Spec: "Participants MAY choose to send short-lived messages for which no synchronization or reliability is
    required."
    """
    group = Group("a", "b")
    group["a"].channel.send_ephemeral(group.now, b"typing")
    group.collect("a")
    group.deliver()
    assert [event.message.content for event in group["b"].of(EphemeralReceived)] == [b"typing"]


def test_s_061_they_leave_clock_history_and_filter_unset() -> None:
    """Spec: "Ephemeral messages SHOULD be sent with `lamport_timestamp`, `causal_history`, and `bloom_filter` unset."

    Here: the clock does not move."""
    group = Group("a")
    group.send("a", "one")
    message = group["a"].channel.send_ephemeral(group.now, b"typing")
    assert (message.lamport_timestamp, message.causal_history, message.bloom_filter) == (None, (), None)


def test_s_061_and_the_clock_alone() -> None:
    """Spec: "Ephemeral messages SHOULD be sent with `lamport_timestamp`, `causal_history`, and `bloom_filter`
    unset."
    """
    group = Group("a")
    group["a"].channel.send_ephemeral(group.now, b"typing")
    assert group["a"].channel.state.clock.value == START


def test_s_062_they_are_not_buffered_for_resending() -> None:
    """Spec: "Ephemeral messages SHOULD NOT be added to the unacknowledged outgoing buffer after broadcast." """
    group = Group("a", config=Config())
    group["a"].channel.send_ephemeral(group.now, b"typing")
    group.collect("a")
    group.tick(600_000)
    assert group["a"].channel.state.outgoing.open == {}
    assert [packet.kind for packet in group["a"].sent].count("ephemeral") == 1


def test_s_063_they_are_delivered_at_once_whatever_they_depend_on() -> None:
    """Spec: "Upon reception, ephemeral messages SHOULD be delivered immediately without buffering for causal
    dependencies or including in the local log."

    Here: their ids are remembered to drop duplicates."""
    group = Group("a")
    group.give("a", forge("b", "e1", None, "unknown", content=b"typing"))
    assert [event.message.message_id for event in group["a"].of(EphemeralReceived)] == ["e1"]
    assert group["a"].channel.state.requests.missing == {}


def test_s_063_they_are_not_in_the_log_and_nothing_is_written() -> None:
    """Spec: "Upon reception, ephemeral messages SHOULD be delivered immediately without buffering for causal
    dependencies or including in the local log."
    """
    group = Group("a")
    ready = group.give("a", forge("b", "e1", None, content=b"typing"))
    assert (ready.writes, group["a"].log) == ([], [])


def test_s_063_a_repair_request_in_one_is_ignored() -> None:
    """Spec: "Upon reception, ephemeral messages SHOULD be delivered immediately without buffering for causal
    dependencies or including in the local log."
    """
    group = Group("a")
    message = group.send("a", "one")
    group.give("a", forge("b", "e1", None, content=b"typing", requests=(message.message_id,)))
    assert group["a"].channel.state.answers.entries == {}


def test_s_063_own_requests_are_never_attached_to_one() -> None:
    """Spec: "Upon reception, ephemeral messages SHOULD be delivered immediately without buffering for causal
    dependencies or including in the local log."
    """
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.now = group.now._replace(mono=group.now.mono + QUIET.t_max)
    message = group["a"].channel.send_ephemeral(group.now, b"typing")
    group.collect("a")
    assert message.repair_request == ()
    assert group["a"].of(RepairRequested) == []
    assert CODEC.decode(group["a"].sent[-1].raw) == message
