"""SDS Repair: state, settings, and sending requests."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from sdschat.sds.config import SPEC, Config, response_groups
from sdschat.sds.events import RepairScheduled
from sdschat.sds.values import HistoryEntry, Message
from tests.sds.group import CODEC, QUIET, START, Group, forge

UNKNOWN_FIELD = b"\xfa\x3e\x05later"  # of a later version of the packet


def hash_of(*strings: str) -> int:
    """The choice we made for the `hash` that the spec leaves open, written out once more."""
    return int.from_bytes(sha256("".join(strings).encode()).digest()[:8], "big")


def t_req_offset(who: str, message_id: str, config: Config = QUIET) -> int:
    return hash_of(who, message_id) % (config.t_max - config.t_min) + config.t_min


def t_resp_offset(who: str, sender: str, message_id: str, config: Config = QUIET) -> int:
    return (hash_of(who) ^ hash_of(sender)) * hash_of(message_id) % config.t_max


def missing(*ids: str, lamport: int = START + 2) -> Group:
    """A node a that lacks `ids`; its first sync message is behind it."""
    group = Group("a", settle=2000)
    for message_id in ids:
        group.give("a", forge("b", f"after-{message_id}", lamport, message_id))
    return group


def requests(group: Group) -> list[Message]:
    return [message for message in group["a"].messages() if message.repair_request]


def test_s_064_the_outgoing_buffer_is_ordered_by_t_req() -> None:
    """Spec: "We RECOMMEND that the outgoing repair request buffer be chronologically ordered in ascending order of
    `T_req`."

    Here: a heap by T_req."""
    ids = [f"m{place}" for place in range(6)]
    group = missing(*ids)
    timers = group["a"].channel.state.requests.requests
    due = timers.first_due(group.now.mono + QUIET.t_max, 6)
    assert due == sorted(ids, key=lambda message_id: t_req_offset("a", message_id))


@pytest.mark.parametrize("size", [1, 60, 600, 60_000])
def test_s_065_the_full_message_is_kept_for_answers(size: int) -> None:
    """Spec: "for each message ID kept in the local log for which the participant could be a repair responder, the full
    SDS `Message` must be cached rather than just the message ID, in case this participant is called upon to
    rebroadcast the message."

    Here: the original bytes of every message are kept, in any response group."""
    group = Group("a")
    raw = CODEC.encode(forge("b", "m1", START + 1, content=b"x" * size)) + UNKNOWN_FIELD
    group.give("a", raw)
    row = group["a"].store.history.row("m1")
    assert row is not None
    assert row.raw == raw


def test_s_066_the_times_and_groups_are_settings_common_to_all() -> None:
    """Spec: "the following SDS-R configuration state SHOULD be common for all participants in the conversation:"

    Here: settings; all defaults are the spec's recommendations."""
    assert Config() == SPEC
    for name in ("a", "b"):
        group = Group(name, config=Config(), settle=2000)
        group.give(name, forge("z", "child", START + 2, "m1"))
        wait = t_req_offset(name, "m1", SPEC)
        group.tick(wait - 1)
        assert not any(message.repair_request for message in group[name].messages())
        group.tick(1)
        assert sum(bool(message.repair_request) for message in group[name].messages()) == 1


def test_s_066_without_a_setting_there_is_one_group_and_everybody_is_in_it() -> None:
    """Spec: "the following SDS-R configuration state SHOULD be common for all participants in the conversation:" """
    names = [f"node-{place}" for place in range(10)]
    group = Group(*names, config=Config())
    for name in names:
        group.give(name, forge("b", "m1", START + 1))
        group.give(name, forge("z", "s1", START + 2, content=None, requests=("m1",)))
    assert [name for name in names if group[name].of(RepairScheduled)] == names


def test_s_066_other_times_are_kept_to() -> None:
    """Spec: "the following SDS-R configuration state SHOULD be common for all participants in the conversation:" """
    quick = replace(QUIET, t_min=1000, t_max=5000)
    group = Group("a", config=quick, settle=2000)
    group.give("a", forge("b", "child", START + 2, "m1"))
    wait = t_req_offset("a", "m1", quick)
    group.tick(wait - 1)
    assert requests(group) == []
    group.tick(1)
    assert len(requests(group)) == 1


def test_s_067_t_min_is_at_least_30_seconds() -> None:
    """Spec: "`T_min`: the minimum time period to wait before a missing causal entry can be repaired. We RECOMMEND a
    value of at least 30 seconds."

    Here: 30 s."""
    assert SPEC.t_min >= 30_000


def test_s_068_t_max_is_from_120_to_600_seconds() -> None:
    """Spec: "`T_max`: the maximum time period over which missing causal entries can be repaired. We RECOMMEND a value
    of between 120 and 600 seconds."

    Here: 120 s."""
    assert 120_000 <= SPEC.t_max <= 600_000


def test_s_069_response_groups_are_a_setting() -> None:
    """Spec: "participants in a single channel MAY be divided into discrete response groups."

    Here: a setting; 1 by default."""
    names = [f"p{place}" for place in range(40)]

    def answering(groups: int) -> int:
        group = Group(*names, config=replace(QUIET, num_response_groups=groups), settle=2000)
        group.say("p0", "one")
        message = group["p0"].messages("message")[0]
        for name in names[1:]:
            group.give(name, forge("z", f"s-{name}", group.now.wall, content=None, requests=(message.message_id,)))
        return sum(bool(group[name].of(RepairScheduled)) for name in names[1:])

    assert answering(1) == 39
    assert 0 < answering(7) < 20


def test_s_070_only_the_response_group_answers() -> None:
    """Spec: "Participants will only respond to a repair request if they are in the response group for that request."

    Here: until a request is heard a second time without a response."""
    grouped = replace(QUIET, num_response_groups=5)
    names = [f"p{place}" for place in range(12)]
    group = Group(*names, config=grouped)
    for name in names:
        group.give(name, forge("b", "m1", START + 1))
        group.give(name, forge("z", "s1", START + 2, content=None, requests=("m1",)))
    answering = [name for name in names if group[name].of(RepairScheduled)]
    assert answering == [name for name in names if hash_of(name, "m1") % 5 == hash_of("b", "m1") % 5]
    assert 0 < len(answering) < len(names)


def test_s_070_a_request_heard_twice_without_an_answer_is_for_everybody() -> None:
    """Spec: "Participants will only respond to a repair request if they are in the response group for that
    request."
    """
    group = Group("p0", config=replace(QUIET, num_response_groups=1_000_000))
    group.give("p0", forge("b", "m1", START + 1))
    for place in (2, 3):
        assert group["p0"].of(RepairScheduled) == []
        group.give("p0", forge("z", f"s{place}", group.now.wall, content=None, requests=("m1",)))
        group.tick(QUIET.t_max)  # nobody honest asks again before
    assert len(group["p0"].of(RepairScheduled)) == 1


def test_s_070_requests_at_the_same_time_are_one_request() -> None:
    """Spec: "Participants will only respond to a repair request if they are in the response group for that
    request."
    """
    group = Group("p0", config=replace(QUIET, num_response_groups=1_000_000))
    group.give("p0", forge("b", "m1", START + 1))
    for place in range(10):
        group.give("p0", forge(f"z{place}", f"s{place}", group.now.wall, content=None, requests=("m1",)))
        group.tick(5000)
    assert group["p0"].of(RepairScheduled) == []


@pytest.mark.parametrize(("participants", "groups"), [(0, 1), (127, 1), (128, 2), (255, 2), (256, 3)])
def test_s_071_there_is_one_group_for_every_128_participants(participants: int, groups: int) -> None:
    """Spec: "`num_response_groups = num_participants div 128 + 1`." """
    assert response_groups(participants) == groups


def test_s_072_the_settings_do_not_change_while_running() -> None:
    """Spec: "We RECOMMEND that the global state variables `T_min`, `T_max` and `num_response_groups` be set statically
    for a specific SDS-R application, based on expected number of group participants and volume of traffic."

    Here: fixed when a channel is opened."""
    group = Group("a", config=Config())
    # One that would be of another of the three groups that 300 participants make.
    ids = (f"m{place}" for place in range(100))
    said = next(one for one in ids if hash_of("a", one) % 3 != hash_of("b", one) % 3)
    group.give("a", forge("b", said, START + 1))
    for place in range(300):
        group.give("a", forge(f"p{place}", f"of p{place}", START + 2 + place))
    group.give("a", forge("z", "s1", START + 400, content=None, requests=(said,)))
    assert len(group["a"].of(RepairScheduled)) == 1
    assert group["a"].channel.state.config == Config()


def test_s_073_due_requests_are_in_the_next_message() -> None:
    """Spec: "the participant SHOULD populate the `repair_request` field in the message with eligible entries from the
    outgoing repair request buffer."

    Here: in messages and in sync messages."""
    group = missing("m1")
    group.offline("a")
    group.tick(QUIET.t_max)
    node = group["a"]
    node.channel.state.online = True  # back just now, and the first thing to happen is that somebody writes
    message = group.send("a", "one")
    assert message.repair_request == (HistoryEntry("m1", None, "b"),)


def test_s_073_they_are_not_before_t_req() -> None:
    """Spec: "the participant SHOULD populate the `repair_request` field in the message with eligible entries from the
    outgoing repair request buffer."
    """
    group = missing("m1")
    wait = t_req_offset("a", "m1")
    group.tick(wait - 1)
    assert group.send("a", "early").repair_request == ()
    group.tick(QUIET.sweep_interval)
    assert [message.repair_request[0].message_id for message in requests(group)] == ["m1"]


def test_s_074_the_lowest_t_req_go_first() -> None:
    """Spec: "We RECOMMEND that this quota be filled by the eligible entries from the outgoing repair request buffer
    with the lowest `T_req`."
    """
    ids = [f"m{place}" for place in range(8)]
    group = missing(*ids)
    group.offline("a")
    group.tick(QUIET.t_max)
    group.online("a")
    first = requests(group)[0].repair_request
    in_order = sorted(ids, key=lambda message_id: t_req_offset("a", message_id))
    assert [entry.message_id for entry in first] == in_order[:3]


def test_s_075_at_most_three_are_requested_by_default() -> None:
    """Spec: "We RECOMMEND a maximum of 3 entries."

    Here: 3 by default; of a received request all entries count, and up to 64 are answered."""
    group = missing(*(f"m{place}" for place in range(8)))
    group.offline("a")
    group.tick(QUIET.t_max)  # all eight are due when the next message goes out
    group.online("a")
    assert len(requests(group)[0].repair_request) == 3


def test_s_075_all_are_requested_in_the_end() -> None:
    """Spec: "We RECOMMEND a maximum of 3 entries." """
    ids = [f"m{place}" for place in range(8)]
    group = missing(*ids)
    group.tick(2 * QUIET.t_max)
    assert {entry.message_id for message in requests(group) for entry in message.repair_request} == set(ids)


def test_s_076_without_eligible_entries_the_field_is_unset() -> None:
    """Spec: "If there are no eligible entries in the buffer, this optional field MUST be left unset." """
    group = missing("m1")
    assert group.send("a", "one").repair_request == ()
