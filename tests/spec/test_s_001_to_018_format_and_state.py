"""Wire format and participant state (spec: Wire protocol, Participant state)."""

from __future__ import annotations

from dataclasses import replace

from sdschat.sds.bloom.compact import read_filter, shape_for
from sdschat.sds.config import Config
from sdschat.sds.events import StateChanged, SyncReceived
from sdschat.sds.values import AckState, Message, MessageKind
from sdschat.wire.sds_pb2 import HistoryEntry as PbEntry
from sdschat.wire.sds_pb2 import Message as PbMessage
from tests.sds.group import CODEC, QUIET, START, Group, forge

MESSAGE_FIELDS = {
    "sender_id": 1,
    "message_id": 2,
    "channel_id": 3,
    "lamport_timestamp": 10,
    "causal_history": 11,
    "bloom_filter": 12,
    "repair_request": 13,
    "content": 20,
}
ENTRY_FIELDS = {"message_id": 1, "retrieval_hint": 2, "sender_id": 3}


def parsed(raw: bytes) -> PbMessage:
    message = PbMessage()
    message.ParseFromString(raw)
    return message


def test_s_001_packets_have_the_fields_and_numbers_of_the_spec() -> None:
    """Spec: "Messages MUST adhere to the following meta structure"

    Here: the generated code is checked against the field numbers of the spec."""
    assert {field.name: field.number for field in PbMessage.DESCRIPTOR.fields} == MESSAGE_FIELDS
    assert {field.name: field.number for field in PbEntry.DESCRIPTOR.fields} == ENTRY_FIELDS


def test_s_001_a_sent_packet_reads_with_these_fields() -> None:
    """Spec: "Messages MUST adhere to the following meta structure" """
    group = Group("a", "b")
    first = group.say("a", "one")
    second = group.say("b", "two")
    packet = parsed(CODEC.encode(second))
    assert (packet.sender_id, packet.content) == ("b", b"two")
    assert [entry.message_id for entry in packet.causal_history] == [first.message_id]


def test_s_002_sender_id_is_the_own_participant_id() -> None:
    """Spec: "The sending participant MUST include its own globally unique identifier in the `sender_id` field."

    Here: the participant id, which the node derives from its key."""
    assert Group("alice").send("alice", "one").sender_id == "alice"


def test_s_003_message_ids_differ_for_different_messages() -> None:
    """Spec: "it MUST include a globally unique identifier for the message in the `message_id` field, likely based on a
    message hash."

    Here: SHA-256 of the content, which holds a nonce, or of channel, sender, clock and text."""
    group = Group("a", "b", config=replace(QUIET, id_rule="text"))
    sent = [group.send(name, "the same") for name in ("a", "a", "b")]
    assert len({message.message_id for message in sent}) == 3


def test_s_003_ephemeral_ids_differ_too() -> None:
    """Spec: "it MUST include a globally unique identifier for the message in the `message_id` field, likely based on a
    message hash."
    """
    group = Group("a", config=replace(QUIET, id_rule="text"))
    channel = group["a"].channel
    ids = [channel.send_ephemeral(group.now, b"typing").message_id for _ in range(2)]
    assert ids[0] != ids[1]


def test_s_004_channel_id_is_the_channel_being_synced() -> None:
    """Spec: "The `channel_id` field MUST be set to the identifier of the channel of group communication that is being
    synchronized."

    Here: set by the engine; packets of other channels are refused."""
    group = Group("a")
    assert group.send("a", "one").channel_id == "lobby"


def test_s_004_packets_of_another_channel_change_nothing() -> None:
    """Spec: "The `channel_id` field MUST be set to the identifier of the channel of group communication that is being
    synchronized."
    """
    group = Group("a")
    ready = group.give("a", forge("b", "m1", START + 1, channel="elsewhere"))
    assert (ready.writes, group["a"].log, group["a"].refused()) == ([], [], ["other_channel"])


def test_s_005_channel_zero_is_a_channel_like_any_other() -> None:
    """Spec: "For simple group communications without individual channels, the `channel_id` SHOULD be set to `0`."

    Here: "0" is an ordinary channel name."""
    message = CODEC.decode(CODEC.encode(forge("a", "m1", channel="0")))
    assert isinstance(message, Message)
    assert message.channel_id == "0"


def test_s_006_a_message_carries_clock_history_and_filter() -> None:
    """Spec: "The `lamport_timestamp`, `causal_history` and `bloom_filter` fields MUST be set according to the protocol
    steps set out below."
    """
    group = Group("a")
    group.send("a", "one")
    message = parsed(CODEC.encode(group.send("a", "two")))
    assert message.HasField("lamport_timestamp")
    assert message.causal_history
    assert message.HasField("bloom_filter")


def test_s_007_ephemeral_messages_leave_clock_history_and_filter_unset() -> None:
    """Spec: "These fields MAY be left unset in the case of ephemeral messages." """
    group = Group("a")
    group.send("a", "one")
    packet = parsed(CODEC.encode(group["a"].channel.send_ephemeral(group.now, b"typing")))
    assert not packet.HasField("lamport_timestamp")
    assert not packet.HasField("bloom_filter")
    assert not packet.causal_history


def test_s_008_sync_messages_have_no_content() -> None:
    """Spec: "The message `content` MAY be left empty for periodic sync messages"

    Here: empty and absent content mean the same."""
    group = Group("a", settle=5000)
    (sync,) = group["a"].messages("sync")
    assert not parsed(CODEC.encode(sync)).HasField("content")


def test_s_008_a_sync_message_with_empty_content_is_understood() -> None:
    """Spec: "The message `content` MAY be left empty for periodic sync messages" """
    packet = parsed(CODEC.encode(forge("b", "s1", START + 1, content=None)))
    packet.content = b""
    group = Group("a")
    group.give("a", packet.SerializeToString())
    assert group["a"].of(SyncReceived) == [SyncReceived("b")]
    assert group["a"].refused() == []
    assert group["a"].log == []


def test_s_009_other_messages_have_content() -> None:
    """Spec: "otherwise it MUST contain the application-level content"

    Here: a packet with neither content nor clock is refused."""
    group = Group("a")
    assert group.send("a", "one").content == b"one"
    refused = group.give("a", forge("b", "m1", None, content=None))
    assert refused.writes == []
    assert group["a"].refused() == ["no_kind"]


def test_s_010_the_clock_starts_at_epoch_milliseconds() -> None:
    """Spec: "A Lamport timestamp for each channel of communication, initialized to current epoch time in millisecond
    resolution."

    Here: kept on disk."""
    assert Group("a")["a"].channel.state.clock.value == START


def test_s_011_received_ids_are_in_the_filter() -> None:
    """Spec: "A bloom filter for received message IDs per channel."

    Here: ids of all messages received with content."""
    group = Group("a", "b")
    message = group.say("a", "one")
    packed = group.send("b", "two").bloom_filter
    assert packed is not None
    received = read_filter(packed)
    assert not isinstance(received, str)
    assert received.holds(message.message_id)


def test_s_012_the_filter_is_rolled_over_at_capacity() -> None:
    """Spec: "The bloom filter SHOULD be rolled over and recomputed once it reaches a predefined capacity of message
    IDs."

    Here: at capacity the older half is dropped, and the filter says from which date on it is complete; it is made
    anew where late arrivals would push out the newest ids."""
    group = Group("a", config=replace(QUIET, bloom_capacity=8))
    for place in range(8):
        group.send("a", f"message {place}")
    state = group["a"].channel.state
    assert (state.filter.generation, state.filter.count) == (2, 4)


def test_s_012_a_rolled_filter_holds_the_newest() -> None:
    """Spec: "The bloom filter SHOULD be rolled over and recomputed once it reaches a predefined capacity of message
    IDs."
    """
    group = Group("a", config=replace(QUIET, bloom_capacity=8))
    ids = [group.send("a", f"message {place}").message_id for place in range(8)]
    received = read_filter(group["a"].channel.state.filter.to_bytes())
    assert not isinstance(received, str)
    assert [message_id for message_id in ids if received.holds(message_id)] == ids[4:]


def test_s_013_size_and_hash_count_are_the_optimum_for_the_error_rate() -> None:
    """Spec: "it SHOULD be designed to minimize false positives through an optimal selection of size and hash
    functions."

    Here: bits and hashes by the formulas for the least error at 256 ids; folded to a smaller size while it holds
    few."""
    shape = shape_for(256, 0.0005)
    assert shape.hashes == 11  # -log2(0.0005) = 10.97
    assert shape.bits == 4096  # 256 * 15.82, in whole bytes at an eighth of the size


def test_s_014_sent_messages_are_in_the_outgoing_buffer() -> None:
    """Spec: "A buffer for unacknowledged outgoing messages"

    Here: by age and by next resend; kept on disk."""
    group = Group("a")
    message = group.send("a", "one")
    assert list(group["a"].channel.state.outgoing.open) == [message.message_id]


def test_s_015_messages_with_unmet_dependencies_are_in_the_incoming_buffer() -> None:
    """Spec: "A buffer for incoming messages with unmet causal dependencies"

    Here: bounded for each sender and each channel; kept on disk."""
    group = Group("a")
    group.give("a", forge("b", "child", START + 2, "parent"))
    assert list(group["a"].channel.state.incoming.buffered) == ["child"]


def test_s_016_the_log_has_all_ids_in_the_order_of_their_clocks() -> None:
    """Spec: "A local log (or history) for each channel, containing all message IDs in the communication channel,
    ordered by Lamport timestamp."

    Here: ids of all delivered messages, in the order of (clock, id), for good; bodies as long as they are kept."""
    group = Group("a")
    for message_id, lamport in (("m3", START + 3), ("m1", START + 1), ("m2", START + 2)):
        group.give("a", forge("b", message_id, lamport))
    assert group["a"].log == ["m1", "m2", "m3"]


def test_s_017_there_are_three_acknowledgement_states_in_this_order() -> None:
    """Spec: "Messages in the unacknowledged outgoing buffer can be in one of three states:"

    Here: states only grow; each has its evidence."""
    assert sorted(AckState) == [AckState.UNACKED, AckState.POSSIBLY_ACKED, AckState.ACKED]


def test_s_017_states_only_grow() -> None:
    """Spec: "Messages in the unacknowledged outgoing buffer can be in one of three states:" """
    group = Group("a", "b", settle=2000)
    message = group.send("a", "one")
    hit, empty = (Group(name).nodes[name].channel.state.filter for name in ("x", "y"))
    hit.add(message.message_id, START)
    seen = []
    for place, packed in enumerate((hit.to_bytes(), empty.to_bytes(), hit.to_bytes(), empty.to_bytes())):
        group.tick(5000, delivering=False)
        sync = forge("c", f"s{place}", group.now.wall, content=None, bloom_filter=packed)
        group.give("a", sync)
        seen.append(group["a"].channel.state.outgoing.open[message.message_id].state)
    assert seen == [AckState.POSSIBLY_ACKED] * 4
    group.give("a", forge("b", "s9", group.now.wall, message.message_id, content=None))
    assert group["a"].of(StateChanged)[-1].state is AckState.ACKED


def test_s_017_what_is_acknowledged_stays_so_whatever_filters_come_later() -> None:
    """Spec: "Messages in the unacknowledged outgoing buffer can be in one of three states:" """
    group = Group("a", config=replace(QUIET, push_enabled=True), settle=2000)
    message = group.send("a", "one")
    group.give("a", forge("b", "s1", group.now.wall + 1, message.message_id, content=None))
    before = group["a"].of(StateChanged)[-1]
    hit = Group("x")["x"].channel.state.filter
    hit.add(message.message_id, START)
    group.give("a", forge("c", "s2", group.now.wall + 1, content=None, bloom_filter=hit.to_bytes()))
    after = group["a"].of(StateChanged)[-1]
    assert (before.by, before.perhaps) == (("b",), ())
    assert (after.by, after.perhaps) == (("b",), ("c",))
    assert (before.state, after.state) == (AckState.ACKED, AckState.ACKED)
    assert group["a"].channel.state.outgoing.settled[message.message_id].state is AckState.ACKED


def test_s_017_an_acknowledged_message_leaves_the_buffer() -> None:
    """Spec: "Messages in the unacknowledged outgoing buffer can be in one of three states:" """
    group = Group("a", "b")
    group.say("a", "one")
    group.say("b", "two")
    assert group["a"].channel.state.outgoing.open == {}


def test_s_018_a_channel_follows_the_steps_from_sending_to_delivery() -> None:
    """Spec: "For each channel of communication, participants MUST follow these protocol steps to populate and
    interpret the `lamport_timestamp`, `causal_history` and `bloom_filter` fields."

    Here: one engine for each channel; its steps are functions under the names of the spec."""
    group = Group("a", "b", "c", config=Config())
    messages = [group.say(name, f"from {name}") for name in ("a", "b", "c")]
    assert all(message.kind is MessageKind.CONTENT for message in messages)
    assert group["a"].log == group["b"].log == group["c"].log == [message.message_id for message in messages]
