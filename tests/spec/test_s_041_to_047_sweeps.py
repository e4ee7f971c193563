"""Periodic Incoming Buffer Sweep, Periodic Outgoing Buffer Sweep."""

from __future__ import annotations

from dataclasses import replace

from sdschat.sds.events import Delivered, DependenciesLost, GapClosed, MessageResent
from sdschat.sds.values import HistoryEntry
from tests.sds.group import QUIET, START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of, seen

PATIENT = replace(QUIET, resend_unacked=30_000, resend_possibly_acked=120_000, resend_max=600_000)


def resends(group: Group) -> list[int]:
    """Times at which the first message of a was sent again, in whole seconds since the start."""
    times = []
    before = 0
    for second in range(1, 1500):
        group.tick(1000)
        if (count := len(group["a"].of(MessageResent))) > before:
            times.append(second)
            before = count
    return times


def test_s_041_what_waits_is_checked_whenever_a_dependency_is_delivered() -> None:
    """Spec: "The participant MUST periodically check causal dependencies for each message in the incoming buffer."

    Here: event-driven: when a dependency is delivered or a deadline passes."""
    group = Group("a")
    group.give("a", forge("b", "m3", START + 3, "m2"))
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.give("a", forge("b", "m1", START + 1))
    assert group["a"].delivered() == ["m1", "m2", "m3"]


def test_s_041_deadlines_of_what_waits_are_checked_as_time_passes() -> None:
    """Spec: "The participant MUST periodically check causal dependencies for each message in the incoming buffer." """
    group = Group("a")
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.tick(QUIET.lost_after + 1)
    assert group["a"].delivered() == ["m2"]


def test_s_042_missing_dependencies_are_fetched_from_other_participants() -> None:
    """Spec: "the participant MAY attempt to retrieve missing dependencies from the Store node (high-availability
    cache) or other peers."

    Here: from other participants by SDS-R, and by anti-entropy."""
    group = Group("a", "b", "c")
    group.passes = lambda flight: flight.receiver != "c"
    first = group.say("a", "one")
    group.passes = lambda flight: True
    second = group.say("b", "two")
    group.tick(QUIET.t_min + 2 * QUIET.t_max)
    assert group["c"].log == [first.message_id, second.message_id]


def test_s_043_the_hint_of_a_missing_dependency_goes_into_the_request() -> None:
    """Spec: "It MAY use the application-specific `retrieval_hint` in the `HistoryEntry` to facilitate retrieval."

    Here: hints go into requests and causal histories."""
    group = Group("a")
    child = forge("b", "m2", START + 2)
    child.causal_history = (HistoryEntry("m1", b"where", "b"),)
    group.give("a", child)
    group.tick(QUIET.t_max + 1)
    asked = [entry for message in group["a"].messages() for entry in message.repair_request]
    assert asked[0] == HistoryEntry("m1", b"where", "b")


def test_s_044_a_message_is_delivered_once_all_its_dependencies_are() -> None:
    """Spec: "if all dependencies of a message are met, the participant MUST proceed to deliver the message."

    Here: iteratively, in log order."""
    group = Group("a")
    group.give("a", forge("b", "m3", START + 3, "m1", "m2"))
    group.give("a", forge("b", "m1", START + 1))
    assert group["a"].delivered() == ["m1"]
    group.give("a", forge("b", "m2", START + 2))
    assert group["a"].delivered() == ["m1", "m2", "m3"]


def test_s_044_a_chain_of_two_thousand_in_reverse_is_delivered_without_recursion() -> None:
    """Spec: "if all dependencies of a message are met, the participant MUST proceed to deliver the message." """
    group = Group("a")
    ids = [f"m{place:04}" for place in range(2048)]
    for place in range(len(ids) - 1, 0, -1):
        group.give("a", forge(f"p{place % 8}", ids[place], START + place, ids[place - 1]))
    group.give("a", forge("p0", ids[0], START))
    assert group["a"].delivered() == ids


def test_s_045_a_dependency_unmet_for_long_is_lost() -> None:
    """Spec: "If a message's causal dependencies have failed to be met after a predetermined amount of time, the
    participant MAY mark them as irretrievably lost."

    Here: after 10 minutes; dependants are delivered with the gap named, and a late arrival closes it."""
    group = Group("a")
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.tick(QUIET.lost_after - 1)
    assert group["a"].of(DependenciesLost) == []
    group.tick(1)
    assert group["a"].of(DependenciesLost) == [DependenciesLost(("m1",))]


def test_s_045_its_dependants_are_delivered_with_the_gap_named() -> None:
    """Spec: "If a message's causal dependencies have failed to be met after a predetermined amount of time, the
    participant MAY mark them as irretrievably lost."
    """
    group = Group("a")
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.tick(QUIET.lost_after + 1)
    assert [event.gap for event in group["a"].of(Delivered)] == [("m1",)]


def test_s_045_a_lost_dependency_that_comes_takes_its_place() -> None:
    """Spec: "If a message's causal dependencies have failed to be met after a predetermined amount of time, the
    participant MAY mark them as irretrievably lost."
    """
    group = Group("a")
    group.give("a", forge("b", "m2", START + 2, "m1"))
    group.tick(QUIET.lost_after + 1)
    group.give("a", forge("b", "m1", START + 1))
    assert group["a"].log == ["m1", "m2"]
    assert group["a"].of(GapClosed) == [GapClosed("m1")]


def test_s_046_unacknowledged_messages_are_sent_again() -> None:
    """Spec: "The participant MUST rebroadcast unacknowledged outgoing messages after a set period."

    Here: the same bytes after 30 s, doubling to 10 minutes, a fifth of jitter, never given up."""
    group = Group("a", config=PATIENT)
    group.send("a", "one")
    group.tick(int(30_000 * 1.2) + 1)
    assert len(group["a"].of(MessageResent)) == 1


def test_s_046_they_are_sent_with_the_same_bytes() -> None:
    """Spec: "The participant MUST rebroadcast unacknowledged outgoing messages after a set period." """
    group = Group("a", config=PATIENT)
    group.send("a", "one")
    group.send("a", "two")
    group.tick(60_000)
    first = {packet.message_id: packet.raw for packet in group["a"].sent if packet.kind == "message"}
    again = {packet.message_id: packet.raw for packet in group["a"].sent if packet.kind == "resend"}
    assert again == first


def test_s_046_they_are_never_given_up() -> None:
    """Spec: "The participant MUST rebroadcast unacknowledged outgoing messages after a set period." """
    group = Group("a", config=PATIENT)
    group.send("a", "one")
    group.tick(30 * 24 * 3_600_000)
    before = len(group["a"].of(MessageResent))
    group.tick(2 * PATIENT.resend_max)
    assert len(group["a"].of(MessageResent)) > before


def test_s_046_acknowledged_messages_are_not_sent_again() -> None:
    """Spec: "The participant MUST rebroadcast unacknowledged outgoing messages after a set period." """
    group = Group("a", "b", config=PATIENT)
    group.say("a", "one")
    group.say("b", "two")
    group.tick(3_600_000)
    assert group["a"].of(MessageResent) == []


def test_s_046_the_period_doubles_with_a_fifth_of_jitter_up_to_its_bound() -> None:
    """Spec: "The participant MUST rebroadcast unacknowledged outgoing messages after a set period." """
    group = Group("a", config=PATIENT)
    group.send("a", "one")
    times = resends(group)
    gaps = [after - before for before, after in zip([0, *times], times, strict=False)]
    for gap, period in zip(gaps, (30, 60, 120, 240, 480), strict=False):
        assert period <= gap <= period * 1.2 + 1


def test_s_047_possibly_acknowledged_messages_have_a_longer_period() -> None:
    """Spec: "The participant SHOULD use distinct resend periods for unacknowledged and possibly acknowledged messages,
    prioritizing unacknowledged messages."

    Here: 30 s and 120 s, unacknowledged messages first."""
    group = Group("a", config=PATIENT)
    message = group.send("a", "one")
    seen(group, "b", filter_of(message.message_id))
    assert 120 <= resends(group)[0] <= 145


def test_s_047_unacknowledged_messages_go_first() -> None:
    """Spec: "The participant SHOULD use distinct resend periods for unacknowledged and possibly acknowledged messages,
    prioritizing unacknowledged messages."
    """
    group = Group("a", config=PATIENT)
    maybe, unacked = group.send("a", "one"), group.send("a", "two")
    seen(group, "b", filter_of(maybe.message_id))
    group.offline("a")
    group.tick(600_000)
    group.online("a")
    again = [packet.message_id for packet in group["a"].sent if packet.kind == "resend"]
    assert again == [unacked.message_id, maybe.message_id]
