"""Receive Message, Deliver Message, Resolve Conflicts, Review ACK Status."""

from __future__ import annotations

import itertools

from sdschat.sds.bloom import compact, waku
from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.events import Delivered, DuplicateReceived, StateChanged
from sdschat.sds.values import AckState, Evidence, Message
from tests.sds.group import CODEC, QUIET, START, Group, forge


def filter_of(*ids: str, capacity: int = 256) -> bytes:
    """The filter of a peer that holds `ids`."""
    shape = compact.shape_for(capacity, 0.0001)
    value = 0
    for message_id in ids:
        value |= compact.mask(message_id, shape.hashes, shape.bits)
    return compact.encode_window(value, shape, shape.bits, 0)


def state_of(group: Group, message: Message) -> AckState:
    outgoing = group["a"].channel.state.outgoing
    known = outgoing.open.get(message.message_id) or outgoing.settled[message.message_id]
    return known.state


def seen(group: Group, sender: str, packed: bytes, step: int = 1) -> None:
    """`sender` is heard with this filter."""
    group.give("a", forge(sender, f"seen-{sender}-{step}", START + 100 + step, content=None, bloom_filter=packed))


def test_s_026_own_messages_that_come_back_are_ignored() -> None:
    """Spec: "the participant SHOULD ignore the message if it has a `sender_id` matching its own."

    Here: own ids are recognised; an unknown packet under our participant id is refused and reported."""
    group = Group("a")
    group.send("a", "one")
    echo = group["a"].sent[-1].raw
    group.give("a", echo)
    assert len(group["a"].of(Delivered)) == 1


def test_s_026_an_own_sync_that_comes_back_changes_nothing() -> None:
    """Spec: "the participant SHOULD ignore the message if it has a `sender_id` matching its own." """
    group = Group("a", settle=5000)
    (sync,) = group["a"].messages("sync")
    assert group.give("a", sync).writes == []


def test_s_027_a_message_is_delivered_once() -> None:
    """Spec: "the participant MAY deduplicate the message by comparing its `message_id` to previously received message
    IDs."

    Here: by id, against the log and the buffers."""
    group = Group("a")
    for _ in range(3):
        group.give("a", forge("b", "m1", START + 1))
    assert group["a"].log == ["m1"]
    assert len(group["a"].of(DuplicateReceived)) == 2


def test_s_027_a_message_that_waits_is_a_duplicate_too() -> None:
    """Spec: "the participant MAY deduplicate the message by comparing its `message_id` to previously received message
    IDs."
    """
    group = Group("a")
    for _ in range(2):
        group.give("a", forge("b", "m1", START + 2, "m0"))
    group.give("a", forge("b", "m0", START + 1))
    assert group["a"].log == ["m0", "m1"]


def test_s_028_causal_history_and_filter_are_both_reviewed() -> None:
    """Spec: "the participant MUST review the ACK status of messages in its unacknowledged outgoing buffer using the
    received message's causal history and bloom filter."

    Here: on every message and sync message that is new; of fetched history the causal history alone, if its author
    signed it: its filters are old."""
    group = Group("a")
    one, two = group.send("a", "one"), group.send("a", "two")
    packed = filter_of(two.message_id)
    group.give("a", forge("b", "m1", START + 50, one.message_id, bloom_filter=packed))
    assert [state_of(group, message) for message in (one, two)] == [AckState.ACKED, AckState.POSSIBLY_ACKED]


def test_s_028_a_message_that_waits_for_dependencies_is_reviewed_at_once() -> None:
    """Spec: "the participant MUST review the ACK status of messages in its unacknowledged outgoing buffer using the
    received message's causal history and bloom filter."
    """
    group = Group("a")
    message = group.send("a", "one")
    group.give("a", forge("b", "m1", START + 50, "unknown", message.message_id))
    assert state_of(group, message) is AckState.ACKED


def test_s_028_a_message_from_the_future_is_reviewed_no_later_than_it_is_delivered() -> None:
    """Spec: "the participant MUST review the ACK status of messages in its unacknowledged outgoing buffer using the
    received message's causal history and bloom filter."
    """
    group = Group("a")
    message = group.send("a", "one")
    group.give("a", forge("b", "m1", START + QUIET.max_skew + 60_000, message.message_id))
    group.tick(61_000)
    assert group["a"].log == [message.message_id, "m1"]
    assert state_of(group, message) is AckState.ACKED


def fetched(group: Group, message: Message, *, unproven: bool = False) -> None:
    group["a"].channel.receive_history(group.now, message, CODEC.encode(message), unproven=unproven)
    group.collect("a")


def test_s_028_a_fetched_message_acknowledges_what_it_names_also_when_it_is_dated_ahead() -> None:
    """Spec: "the participant MUST review the ACK status of messages in its unacknowledged outgoing buffer using the
    received message's causal history and bloom filter." """
    for lamport in (START + 50, START + QUIET.max_skew + 50):
        group = Group("a")
        message = group.send("a", "one")
        fetched(group, forge("b", "answer", lamport, message.message_id))
        assert state_of(group, message) is AckState.ACKED
        (changed,) = [event for event in group["a"].of(StateChanged) if event.evidence is not None]
        assert changed.evidence is not None
        assert (changed.evidence.how, changed.evidence.packet_id) == ("mention", "answer")


def test_s_028_a_fetched_message_acknowledges_nothing_if_nobody_or_we_ourselves_signed_it() -> None:
    """Spec: "the participant MUST review the ACK status of messages in its unacknowledged outgoing buffer using the
    received message's causal history and bloom filter." """
    group = Group("a")
    message = group.send("a", "one")
    fetched(group, forge("b", "answer", START + 50, message.message_id), unproven=True)
    fetched(group, forge("a", "of another device", START + 60, message.message_id))
    assert state_of(group, message) is AckState.UNACKED


def test_s_029_the_id_of_a_message_with_content_goes_into_the_filter() -> None:
    """Spec: "if the message has a populated `content` field, the participant MUST include the received message ID in
    its local bloom filter."

    Here: when received, delivered or waiting; for fetched history see sdschat/sds/README.md."""
    group = Group("a")
    group.give("a", forge("b", "m1", START + 1))
    received = read_filter(group["a"].channel.state.filter.to_bytes())
    assert not isinstance(received, str)
    assert received.holds("m1")


def test_s_029_a_message_that_waits_is_in_the_filter_since_it_was_received() -> None:
    """Spec: "if the message has a populated `content` field, the participant MUST include the received message ID in
    its local bloom filter."
    """
    group = Group("a")
    group.give("a", forge("b", "m1", START + 2, "m0"))
    received = read_filter(group["a"].channel.state.filter.to_bytes())
    assert not isinstance(received, str)
    assert received.holds("m1")
    assert not received.holds("m0")


def test_s_030_dependencies_are_verified() -> None:
    """Spec: "the participant MUST verify that all causal dependencies are met for the received message."

    Here: unknown, buffered and delivered dependencies are told apart; of a child not dated after its parent only
    the id is kept."""
    group = Group("a")
    group.give("a", forge("b", "m2", START + 2, "m1"))
    assert group["a"].log == []


def test_s_030_a_child_dated_no_later_than_its_parent_is_refused() -> None:
    """Spec: "the participant MUST verify that all causal dependencies are met for the received message." """
    group = Group("a")
    group.give("a", forge("b", "m1", START + 5))
    for place, lamport in enumerate((START + 5, START + 4)):
        group.give("a", forge("b", f"child-{place}", lamport, "m1"))
    assert group["a"].refused() == ["clock_not_above_parent"] * 2
    assert group["a"].delivered() == ["m1"]
    assert group["a"].log == ["child-1", "child-0", "m1"]
    assert group["a"].channel.state.packet_of("child-0") is None


def test_s_031_a_dependency_that_only_waits_is_not_met() -> None:
    """Spec: "Dependencies are met if the message IDs in the `causal_history` of the received message appear in the
    local history of the receiving participant."
    """
    group = Group("a")
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.give("a", forge("b", "m3", START + 3, "m2"))
    assert list(group["a"].channel.state.incoming.buffered) == ["m2", "m3"]


def test_s_031_a_dependency_that_only_waits_is_not_missing_either() -> None:
    """Spec: "Dependencies are met if the message IDs in the `causal_history` of the received message appear in the
    local history of the receiving participant."
    """
    group = Group("a")
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.give("a", forge("b", "m3", START + 3, "m2"))
    assert list(group["a"].channel.state.requests.missing) == ["m1"]


def test_s_032_a_message_with_met_dependencies_is_delivered_at_once() -> None:
    """Spec: "If all dependencies are met and the message has a populated `content` field, the participant MUST deliver
    the message."
    """
    group = Group("a")
    group.give("a", forge("b", "m1", START + 1))
    ready = group.give("a", forge("b", "m2", START + 2, "m1"))
    assert [event.message.message_id for event in ready.events if isinstance(event, Delivered)] == ["m2"]


def test_s_033_a_message_with_unmet_dependencies_is_buffered_and_kept_on_disk() -> None:
    """Spec: "If dependencies are unmet, the participant MUST add the message to the incoming buffer of messages with
    unmet causal dependencies."

    Here: also on disk."""
    group = Group("a")
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.crash("a")
    assert list(group["a"].channel.state.incoming.buffered) == ["m2"]


def test_s_034_delivery_raises_the_clock_to_that_of_the_message() -> None:
    """Spec: "If the received message's Lamport timestamp is greater than the participant's local Lamport timestamp,
    the participant MUST update its local Lamport timestamp to match the received message."

    Here: on delivery, never on arrival alone."""
    group = Group("a")
    group.give("a", forge("b", "m1", START + 777))
    assert group["a"].channel.state.clock.value == START + 777


def test_s_034_a_smaller_clock_leaves_ours_alone() -> None:
    """Spec: "If the received message's Lamport timestamp is greater than the participant's local Lamport timestamp,
    the participant MUST update its local Lamport timestamp to match the received message."
    """
    group = Group("a")
    group.give("a", forge("b", "m1", START - 777))
    assert group["a"].channel.state.clock.value == START


def test_s_034_what_waits_moves_no_clock() -> None:
    """Spec: "If the received message's Lamport timestamp is greater than the participant's local Lamport timestamp,
    the participant MUST update its local Lamport timestamp to match the received message."
    """
    group = Group("a")
    group.give("a", forge("b", "m2", START + 777, "m1"))
    assert group["a"].channel.state.clock.value == START


def test_s_035_a_late_message_takes_its_place_in_the_middle() -> None:
    """Spec: "The participant MUST insert the message ID into its local log, based on Lamport timestamp."

    Here: a late message is marked as late."""
    group = Group("a")
    for message_id, lamport in (("m1", START + 1), ("m3", START + 3), ("m2", START + 2)):
        group.give("a", forge(message_id, message_id, lamport))
    assert group["a"].log == ["m1", "m2", "m3"]
    assert [entry.message_id for entry in group["a"].channel.state.newest(3)] == ["m1", "m2", "m3"]
    assert [event.late for event in group["a"].of(Delivered)] == [False, False, True]


def test_s_036_equal_clocks_are_ordered_whatever_the_order_of_arrival() -> None:
    """Spec: "If one or more message IDs with the same Lamport timestamp already exists, the participant MUST follow
    the Resolve Conflicts procedure."

    Here: one total order for any order of arrival."""
    packets = [forge("b", message_id, START + 1) for message_id in ("x", "y", "z")]
    logs = set()
    for order in itertools.permutations(packets):
        group = Group("a")
        for packet in order:
            group.give("a", packet)
        logs.add(tuple(group["a"].log))
    assert logs == {("x", "y", "z")}


def test_s_037_equal_clocks_are_ordered_by_the_bytes_of_the_id() -> None:
    """Spec: "The participant MUST order messages with the same Lamport timestamp in ascending order of message ID."

    Here: by the UTF-8 bytes of the id."""
    ids = ["b", "B", "ß", "a", "\U0001d54f", "\uffee", "é", "0"]
    group = Group("a")
    for message_id in ids:
        group.give("a", forge("b", message_id, START + 1))
    assert group["a"].log == sorted(ids, key=lambda message_id: message_id.encode())


def test_s_038_a_mention_in_a_causal_history_acknowledges() -> None:
    """Spec: "the participant MUST mark all messages in the received `causal_history` as acknowledged."

    Here: the evidence names the participant, the time and the packet."""
    group = Group("a")
    message = group.send("a", "one")
    group.give("a", forge("b", "m1", START + 9, message.message_id))
    assert state_of(group, message) is AckState.ACKED


def test_s_038_the_evidence_says_who_when_how_and_by_which_packet() -> None:
    """Spec: "the participant MUST mark all messages in the received `causal_history` as acknowledged." """
    group = Group("a")
    message = group.send("a", "one")
    group.give("a", forge("b", "m1", START + 9, message.message_id))
    evidence = group["a"].of(StateChanged)[-1].evidence
    assert evidence == Evidence("b", "mention", "m1", START, 0.0)


def test_s_039_a_hit_in_a_filter_is_possibly_acknowledged() -> None:
    """Spec: "the participant MUST mark all messages included in the `bloom_filter` as possibly acknowledged."

    Here: with the filter's measured chance of error; a filter that is too full says nothing."""
    group = Group("a")
    message = group.send("a", "one")
    seen(group, "b", filter_of(message.message_id))
    assert state_of(group, message) is AckState.POSSIBLY_ACKED


def test_s_039_whose_filter_has_it_perhaps_has_it_and_whoever_names_it_does() -> None:
    """Spec: "the participant MUST mark all messages included in the `bloom_filter` as possibly acknowledged." """
    group = Group("a")
    message = group.send("a", "one")
    seen(group, "b", filter_of(message.message_id))
    seen(group, "c", filter_of(message.message_id))
    group.give("a", forge("b", "m1", START + 9, message.message_id))
    told = [(event.state, event.by, event.perhaps) for event in group["a"].of(StateChanged)]
    assert told == [
        (AckState.UNACKED, (), ()),
        (AckState.POSSIBLY_ACKED, (), ("b",)),
        (AckState.ACKED, (), ("b", "c")),
        (AckState.ACKED, ("b",), ("c",)),
    ]


def test_s_039_a_filter_without_the_message_says_nothing() -> None:
    """Spec: "the participant MUST mark all messages included in the `bloom_filter` as possibly acknowledged." """
    group = Group("a")
    message = group.send("a", "one")
    seen(group, "b", filter_of("another"))
    assert state_of(group, message) is AckState.UNACKED


def test_s_039_a_full_filter_says_nothing_and_its_message_is_kept() -> None:
    """Spec: "the participant MUST mark all messages included in the `bloom_filter` as possibly acknowledged." """
    group = Group("a")
    message = group.send("a", "one")
    shape = compact.shape_for(256, 0.0001)
    packed = compact.encode_window((1 << shape.bits) - 1, shape, shape.bits, 0)
    group.give("a", forge("b", "m1", START + 9, bloom_filter=packed))
    assert state_of(group, message) is AckState.UNACKED
    assert "m1" in group["a"].log


def test_s_040_the_filters_of_two_participants_acknowledge_when_chance_cannot_explain_them() -> None:
    """Spec: "If a message appears as possibly acknowledged in multiple received bloom filters, the participant MAY
    mark it as acknowledged based on probabilistic grounds, taking into account the bloom filter size and hash
    number."

    Here: filters of two different senders, and a combined chance of error of one in a million at most, by the
    better filter."""
    group = Group("a")
    message = group.send("a", "one")
    for sender in ("b", "c"):
        seen(group, sender, filter_of(message.message_id))
    assert state_of(group, message) is AckState.ACKED


def test_s_040_the_filters_of_one_participant_never_acknowledge() -> None:
    """Spec: "If a message appears as possibly acknowledged in multiple received bloom filters, the participant MAY
    mark it as acknowledged based on probabilistic grounds, taking into account the bloom filter size and hash
    number."
    """
    group = Group("a")
    message = group.send("a", "one")
    for step in range(50):
        seen(group, "b", filter_of(message.message_id, f"more-{step}"), step)
    assert state_of(group, message) is AckState.POSSIBLY_ACKED


def test_s_040_filters_that_are_likely_to_be_wrong_alike_never_acknowledge_however_many() -> None:
    """Spec: "If a message appears as possibly acknowledged in multiple received bloom filters, the participant MAY
    mark it as acknowledged based on probabilistic grounds, taking into account the bloom filter size and hash
    number."

    Who holds the same ids has the same filter: their chances of error do not multiply."""
    group = Group("a")
    message = group.send("a", "one")
    body = bytearray(waku.BYTES)
    waku.add(body, message.message_id)
    for place in range(10_500):  # a little over capacity: fill 0.504, wrong with 0.504**10 = 0.00106
        waku.add(body, f"other-{place}")
    for number in range(8):
        seen(group, f"peer-{number}", bytes(body))
    assert state_of(group, message) is AckState.POSSIBLY_ACKED
