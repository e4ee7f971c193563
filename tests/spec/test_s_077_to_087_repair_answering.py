"""SDS Repair: what is received, when to ask and to answer, and who answers."""

from __future__ import annotations

from sdschat.sds.events import RepairCancelled, RepairRequested, RepairResponded, RepairScheduled, RepairWanted
from sdschat.sds.repair import determine_t_req, in_response_group
from sdschat.sds.values import HistoryEntry
from tests.sds.group import CODEC, QUIET, START, Group, forge
from tests.spec.test_s_064_to_076_repair_asking import (
    UNKNOWN_FIELD,
    hash_of,
    missing,
    requests,
    t_req_offset,
    t_resp_offset,
)


def test_s_077_a_received_message_leaves_the_outgoing_buffer() -> None:
    """Spec: "the participant MUST remove entries matching the received message ID from its outgoing repair request
    buffer."

    Here: also when the message itself has to wait."""
    group = missing("m1")
    group.give("a", forge("b", "m1", START + 1))
    assert group["a"].channel.state.requests.missing == {}
    assert RepairCancelled("m1", "received") in group["a"].of(RepairCancelled)


def test_s_077_it_does_even_if_it_has_to_wait_itself() -> None:
    """Spec: "the participant MUST remove entries matching the received message ID from its outgoing repair request
    buffer."
    """
    group = missing("m1")
    group.give("a", forge("b", "m1", START + 1, "m0"))
    assert list(group["a"].channel.state.requests.missing) == ["m0"]


def asked(group: Group, name: str, message_id: str = "m1") -> None:
    group.give(name, forge("z", f"s-{group.now.wall}", group.now.wall, content=None, requests=(message_id,)))


def test_s_078_another_s_answer_cancels_ours() -> None:
    """Spec: "the participant MUST remove entries matching the received message ID from its incoming repair request
    buffer."

    Here: also for duplicates."""
    group = Group("a", settle=2000)
    packet = forge("b", "m1", START + 1)
    group.give("a", packet)
    asked(group, "a")
    group.give("a", packet)
    group.tick(QUIET.t_max)
    assert RepairCancelled("m1", "answered_by_other") in group["a"].of(RepairCancelled)
    assert group["a"].of(RepairResponded) == []


def test_s_079_an_unmet_dependency_gets_an_entry() -> None:
    """Spec: "the participant SHOULD check for any unmet causal dependencies that do not yet have a corresponding entry
    in its outgoing repair request buffer. For each such dependency, the participant SHOULD add a new entry against
    a unique `T_req` timestamp."

    Here: one entry for each id; its T_req never moves."""
    group = missing("m1")
    assert [event.message_id for event in group["a"].of(RepairWanted)] == ["m1"]


def test_s_079_naming_it_again_does_not_put_its_t_req_off() -> None:
    """Spec: "the participant SHOULD check for any unmet causal dependencies that do not yet have a corresponding entry
    in its outgoing repair request buffer. For each such dependency, the participant SHOULD add a new entry against
    a unique `T_req` timestamp."
    """
    group = missing("m1")
    before = group["a"].channel.state.requests.missing["m1"].t_req
    group.tick(10_000)
    group.give("a", forge("b", "m3", START + 3, "m1"))
    assert group["a"].channel.state.requests.missing["m1"].t_req == before


def test_s_080_t_req_is_the_formula_of_the_spec() -> None:
    """Spec: "It MUST compute the `T_req` for each such HistoryEntry according to the steps outlined in Determine
    T_req. … T_req = current_time + hash(participant_id, message_id) % (T_max - T_min) + T_min"

    Here: `hash` is the first 8 bytes of SHA-256."""
    group = missing("m1")
    assert group["a"].of(RepairWanted)[0].due == group.now.wall + t_req_offset("a", "m1")


def test_s_080_t_req_lies_between_t_min_and_t_max() -> None:
    """Spec: "It MUST compute the `T_req` for each such HistoryEntry according to the steps outlined in Determine
    T_req. … T_req = current_time + hash(participant_id, message_id) % (T_max - T_min) + T_min"
    """
    found = [determine_t_req(0, "a", f"m{place}", 30_000, 120_000) for place in range(2000)]
    assert min(found) >= 30_000
    assert max(found) < 120_000
    assert max(found) - min(found) > 85_000


def test_s_081_what_another_requests_we_do_not() -> None:
    """Spec: "the participant MUST remove entries matching the repair message ID from its own outgoing repair request
    buffer."

    Here: dropped once between two requests of our own, and a new entry made for T_max later, in case nobody answers."""
    group = missing("m1")
    asked(group, "a")
    group.tick(QUIET.t_max)
    assert requests(group) == []


def test_s_081_if_nothing_comes_of_it_we_ask_after_all() -> None:
    """Spec: "the participant MUST remove entries matching the repair message ID from its own outgoing repair request
    buffer."
    """
    group = missing("m1")
    asked(group, "a")
    group.tick(2 * QUIET.t_max + 1)
    assert [event.message_ids for event in group["a"].of(RepairRequested)] == [("m1",)]


def test_s_081_who_asks_again_and_again_does_not_keep_us_from_asking() -> None:
    """Spec: "the participant MUST remove entries matching the repair message ID from its own outgoing repair request
    buffer."
    """
    group = missing("m1")
    for _ in range(20):
        asked(group, "a")
        group.tick(QUIET.t_max // 10)
    assert len(requests(group)) == 1


def test_s_081_all_items_count_however_few_we_would_request_ourselves() -> None:
    """Spec: "the participant MUST remove entries matching the repair message ID from its own outgoing repair request
    buffer."
    """
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m-last", START + 20, *(f"m{place}" for place in range(16))))
    entries = tuple(f"m{place}" for place in range(16))
    group.give("a", forge("z", "s1", group.now.wall, content=None, requests=entries))
    assert [(event.message_id, event.reason) for event in group["a"].of(RepairCancelled)] == [
        (message_id, "requested_by_other") for message_id in entries
    ]


def test_s_082_each_item_of_a_request_is_scheduled() -> None:
    """Spec: "if the participant has the requested `Message` in its local history and is an eligible responder for the
    repair request, it SHOULD add the request to its incoming repair request buffer against a unique `T_resp`
    timestamp for that entry."

    Here: the earliest T_resp stands."""
    group = Group("a", settle=2000)
    entries = tuple(f"m{place}" for place in range(16))
    for message_id in entries:
        group.give("a", forge("b", message_id, START + 1))
    group.give("a", forge("z", "s1", group.now.wall, content=None, requests=entries))
    assert tuple(event.message_id for event in group["a"].of(RepairScheduled)) == entries


def test_s_082_a_request_for_what_we_have_is_scheduled() -> None:
    """Spec: "if the participant has the requested `Message` in its local history and is an eligible responder for the
    repair request, it SHOULD add the request to its incoming repair request buffer against a unique `T_resp`
    timestamp for that entry."
    """
    group = Group("a")
    group.give("a", forge("b", "m1", START + 1))
    asked(group, "a")
    assert [event.message_id for event in group["a"].of(RepairScheduled)] == ["m1"]


def test_s_082_a_request_for_what_we_lack_is_not() -> None:
    """Spec: "if the participant has the requested `Message` in its local history and is an eligible responder for the
    repair request, it SHOULD add the request to its incoming repair request buffer against a unique `T_resp`
    timestamp for that entry."
    """
    group = Group("a")
    asked(group, "a")
    assert group["a"].channel.state.answers.entries == {}


def test_s_082_asking_again_does_not_put_the_answer_off() -> None:
    """Spec: "if the participant has the requested `Message` in its local history and is an eligible responder for the
    repair request, it SHOULD add the request to its incoming repair request buffer against a unique `T_resp`
    timestamp for that entry."
    """
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m2", START + 1))  # answered by us after 88 s
    asked(group, "a", "m2")
    before = group["a"].channel.state.answers.entries["m2"].due
    assert before is not None
    for moment in (group.now.mono + 10, before - 1):  # within the pause in which requests count as one, and after it
        group.tick(moment - group.now.mono)
        asked(group, "a", "m2")
        assert group["a"].channel.state.answers.entries["m2"].due == before


def test_s_083_t_resp_is_the_formula_of_the_spec() -> None:
    """Spec: "It MUST compute the `T_resp` for each such repair request according to the steps outlined in Determine
    T_resp. … distance = hash(participant_id) XOR hash(sender_id) T_resp = current_time + distance*hash(message_id)
    % T_max"

    Here: with the sender of the stored message."""
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m1", START + 1))
    asked(group, "a")
    assert group["a"].of(RepairScheduled)[0].due == group.now.wall + t_resp_offset("a", "b", "m1")


def test_s_083_the_original_sender_answers_at_once() -> None:
    """Spec: "It MUST compute the `T_resp` for each such repair request according to the steps outlined in Determine
    T_resp. … distance = hash(participant_id) XOR hash(sender_id) T_resp = current_time + distance*hash(message_id)
    % T_max"
    """
    group = Group("a", settle=2000)
    message = group.send("a", "one")
    asked(group, "a", message.message_id)
    assert group["a"].of(RepairScheduled)[0].due == group.now.wall


def test_s_083_the_sender_in_the_request_is_not_believed() -> None:
    """Spec: "It MUST compute the `T_resp` for each such repair request according to the steps outlined in Determine
    T_resp. … distance = hash(participant_id) XOR hash(sender_id) T_resp = current_time + distance*hash(message_id)
    % T_max"
    """
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m1", START + 1))
    request = forge("z", "s1", START + 3, content=None)
    request.repair_request = (HistoryEntry("m1", None, "a"),)
    group.give("a", request)
    assert group["a"].of(RepairScheduled)[0].due == group.now.wall + t_resp_offset("a", "b", "m1")


def test_s_084_eligibility_is_the_formula_of_the_spec() -> None:
    """Spec: "It MUST determine if it's an eligible responder for a repair request according to the steps outlined in
    Determine response group. … hash(participant_id, message_id) % num_response_groups == hash(sender_id,
    message_id) % num_response_groups"
    """
    for place in range(500):
        ids = (f"p{place}", f"s{place % 7}", f"m{place % 11}")
        expected = hash_of(ids[0], ids[2]) % 7 == hash_of(ids[1], ids[2]) % 7
        assert in_response_group(*ids, 7) is expected


def test_s_084_a_sender_is_always_in_the_group_of_its_own_messages() -> None:
    """Spec: "It MUST determine if it's an eligible responder for a repair request according to the steps outlined in
    Determine response group. … hash(participant_id, message_id) % num_response_groups == hash(sender_id,
    message_id) % num_response_groups"
    """
    assert all(in_response_group("a", "a", f"m{place}", 1000) for place in range(100))


def test_s_085_due_answers_are_looked_for_as_time_passes() -> None:
    """Spec: "An SDS-R participant MUST periodically check if there are any incoming requests in the incoming repair
    request buffer that is due for a response."

    Here: exact deadlines instead of polling."""
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m1", START + 1))
    asked(group, "a")
    assert group["a"].channel.next_wake() == group.now.mono + t_resp_offset("a", "b", "m1")


def test_s_086_the_original_bytes_are_broadcast_when_t_resp_is_over() -> None:
    """Spec: "the participant SHOULD broadcast the corresponding `Message` from local history if its corresponding
    response timestamp, `T_resp`, has expired (in other words, `T_resp <= current_time`)."

    Here: the original bytes, within 64 KiB a minute."""
    group = Group("a", settle=2000)
    raw = CODEC.encode(forge("b", "m1", START + 1, content=b"original")) + UNKNOWN_FIELD
    group.give("a", raw)
    asked(group, "a")
    wait = t_resp_offset("a", "b", "m1")
    group.tick(wait - 1)
    assert group["a"].messages("answer") == []
    group.tick(1)
    assert [packet.raw for packet in group["a"].sent if packet.kind == "answer"] == [raw]


def test_s_087_own_due_requests_are_sent_however_much_others_say() -> None:
    """Spec: "If the participant is due to send a periodic sync message, it SHOULD send the message according to SDS-R
    send message if there are any eligible items in the outgoing repair request buffer, regardless of whether other
    participants have also recently broadcast a Periodic Sync message."
    """
    group = missing("m1")
    for place in range(QUIET.t_max // 1000 + 1):
        group.give("a", forge("c", f"s{place}", group.now.wall, content=None))
        group.tick(1000)
    assert [entry.message_id for message in requests(group) for entry in message.repair_request] == ["m1"]
