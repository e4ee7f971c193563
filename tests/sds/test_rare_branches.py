"""Branches that are seldom taken: one test for each way in which they could be wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds import limits as bounds
from sdschat.sds.config import Config
from sdschat.sds.events import RepairRequested, RepairResponded
from sdschat.sds.history import MemoryHistory
from sdschat.sds.state import ChannelState
from sdschat.sds.steps.repair import eligible_requests, mark_requested
from sdschat.sds.values import HistoryEntry, Message
from sdschat.sim.generate import limits
from tests.sds.group import CODEC, QUIET, START, Group, Node, forge
from tests.spec.test_s_026_to_040_receive import filter_of

AHEAD = START + 10 * QUIET.max_skew


def sized(sender: str, message_id: str, lamport: int, size: int, *parents: str) -> Message:
    """A message whose packet has exactly this many bytes."""

    def of(content: int) -> Message:
        return forge(sender, message_id, lamport, *parents, content=b"x" * content)

    message = of(size - (len(CODEC.encode(of(size))) - size))
    assert len(CODEC.encode(message)) == size
    return message


def buffered(group: Group) -> list[str]:
    return sorted(group["a"].channel.state.incoming.buffered)


# Deferred to their date.


def test_who_is_over_its_own_share_of_bytes_pays_itself_even_if_another_has_more_deferred() -> None:
    with limits((("FUTURE_DATED_BYTES_PER_SENDER", 2000),)):
        group = Group("a")
        for place in range(5):
            group.give("a", forge("x", f"x{place}", AHEAD + 900 + place))
        group.give("a", sized("b", "far", AHEAD + 500, 1500))
        group.give("a", sized("b", "near", AHEAD, 1000))
        assert buffered(group) == ["near", "x0", "x1", "x2", "x3", "x4"]


def test_who_just_has_its_share_of_bytes_does_not_pay_for_a_channel_that_others_fill() -> None:
    with limits((("FUTURE_DATED_BYTES_PER_SENDER", 2000), ("FUTURE_DATED_PER_CHANNEL", 4))):
        group = Group("a")
        for place in range(3):
            group.give("a", forge("x", f"x{place}", AHEAD + 900 + place))
        group.give("a", sized("b", "far", AHEAD + 500, 1000))
        group.give("a", sized("b", "near", AHEAD, 1000))
        assert buffered(group) == ["far", "near", "x0", "x1"]


# Waiting for dependencies.


@pytest.mark.parametrize(("extra", "both"), [(0, True), (1, False)])
def test_bytes_that_wait_in_one_channel(extra: int, both: bool) -> None:
    with limits((("BUFFERED_BYTES_PER_CHANNEL", 2000),)):
        group = Group("a", settle=2000)
        group.give("a", sized("b", "first", START + 1, 1000, "nowhere"))
        group.give("a", sized("c", "second", START + 2, 1000 + extra, "nowhere"))
        assert buffered(group) == (["first", "second"] if both else ["first"])


def test_bytes_of_what_is_given_up_make_room() -> None:
    with limits((("BUFFERED_BYTES_PER_CHANNEL", 3000),)):
        group = Group("a", settle=2000)
        for place in range(3):
            group.give("a", sized("b", f"b{place}", START + 10 + place, 1000, "nowhere"))
        group.give("a", sized("c", "c0", START + 1, 1000, "nowhere"))
        assert buffered(group) == ["b0", "b1", "c0"]


def test_the_newest_that_a_sender_has_waiting_is_neither_deferred_nor_of_another() -> None:
    with limits((("BUFFERED_PER_SENDER", 2),)):
        group = Group("a", settle=2000)
        for message_id, lamport in (("b80", 80), ("b90", 90)):
            group.give("a", forge("b", message_id, START + lamport, "nowhere"))
        group.give("a", forge("b", "deferred", AHEAD))
        group.give("a", forge("c", "c95", START + 95, "nowhere"))
        group.give("a", forge("b", "b70", START + 70, "nowhere"))
        assert buffered(group) == ["b70", "b80", "c95", "deferred"]


def test_the_first_message_of_a_log_waits_for_what_is_here_and_waits_itself() -> None:
    """Without anti-entropy the first one waited for what it names; the program is started again with it."""
    config = replace(QUIET, push_enabled=False)
    group = Group("a", config=config, settle=2000)
    group.give("a", forge("b", "waits", START + 5, "nowhere"))
    node: Node = group["a"]
    node.config = replace(config, push_enabled=True)
    group.crash("a")
    group.give("a", forge("b", "child", START + 6, "waits", "nowhere either"))
    assert buffered(group) == ["child", "waits"]
    assert node.log == []


# Sending.


def test_all_that_is_due_is_sent_again_however_many_sweeps_it_takes() -> None:
    group = Group("a", settle=2000)
    count = 3 * bounds.RESENDS_PER_SWEEP
    for place in range(count):
        group.send("a", f"message {place}")
    group.offline("a")
    group.tick(3_600_000)
    group.online("a")
    group.tick(3 * QUIET.sweep_interval)
    assert len({message.message_id for message in group["a"].messages("resend")}) == count


@pytest.mark.parametrize(("repairs", "requested"), [(True, 1), (False, 0)])
def test_a_packet_that_the_disk_altered_is_asked_for_only_with_sds_r(repairs: bool, requested: int) -> None:
    group = Group("a", config=replace(QUIET, repair_enabled=repairs, sync_interval=30_000), settle=2000)
    group.give("a", forge("b", "m1", START + 1))
    assert group["a"].channel.fetch(group.now, "m1")
    group.tick(3 * QUIET.t_min)
    assert len(group["a"].of(RepairRequested)) == requested


def test_a_packet_that_is_in_no_log_is_not_asked_for() -> None:
    group = Group("a", config=replace(QUIET, sync_interval=30_000), settle=2000)
    assert not group["a"].channel.fetch(group.now, "m1")
    group.tick(2 * QUIET.t_min)
    assert group["a"].of(RepairRequested) == []


def test_altered_packets_are_asked_for_in_the_room_that_missing_messages_leave() -> None:
    group = Group("a", config=replace(QUIET, max_requests=3), settle=2000)
    for place in range(5):
        group.give("a", forge("b", f"m{place}", START + place))
        assert group["a"].channel.fetch(group.now, f"m{place}")
    group.give("a", forge("b", "after", START + 9, "gone1", "gone2"))
    group.offline("a")
    group.tick(3 * QUIET.t_max)
    group.online("a")
    group.send("a", "hello")
    asked = [{entry.message_id for entry in message.repair_request} for message in group["a"].messages()]
    assert next(requests for requests in asked if requests) == {"gone1", "gone2", "m0"}
    assert max(map(len, asked)) == 3


@pytest.mark.parametrize(("message_id", "asked"), [("m1", 0), ("m2", 1)])
def test_a_message_that_its_author_is_known_to_have_sent_is_asked_for_unless_it_is_here(
    message_id: str, asked: int
) -> None:
    group = Group("a", config=replace(QUIET, sync_interval=30_000), settle=2000)
    group.give("a", forge("b", "m1", START))
    group["a"].channel.miss(group.now, HistoryEntry(message_id, None, "b"))
    group.collect("a")
    group.tick(3 * QUIET.t_max)
    assert len({each for event in group["a"].of(RepairRequested) for each in event.message_ids}) == asked


# Starting again, and hearing what makes no sense.


def test_a_packet_that_is_gone_from_the_disk_leaves_what_came_before_it_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    group = Group("a", config=Config(id_rule="text"), settle=2000)
    for place in range(3):
        group.give("a", forge("b", f"m{place}", group.now.wall + place))
    row = MemoryHistory.row
    monkeypatch.setattr(MemoryHistory, "row", lambda self, key: None if key == "m2" else row(self, key))
    group.crash("a")
    assert list(group["a"].channel.state.recent_arrivals) == ["m0", "m1"]


def test_whose_filter_cannot_be_read_has_an_unknown_format() -> None:
    group = Group("a", config=replace(QUIET, push_enabled=True), settle=2000)
    group.give("a", forge("b", "s1", group.now.wall, content=None, bloom_filter=filter_of("m1")))
    assert group["a"].channel.state.peers.known["b"].filter_format == "compact"
    group.tick(QUIET.push_grace)
    group.give("a", forge("b", "s2", group.now.wall, content=None, bloom_filter=b"\0" * 40))
    assert group["a"].channel.state.peers.known["b"].filter_format == "unknown"


def test_all_that_the_disk_altered_is_asked_for_again_later() -> None:
    group = Group("a")
    state = group["a"].channel.state
    now = state.now.mono
    for place, name in enumerate(("one", "two", "three")):
        group.give("a", forge("b", name, START + place))
        state.refetch.want(HistoryEntry(name, None, "b"), now)
    asked = eligible_requests(state)
    assert {entry.message_id for entry in asked} == {"one", "two", "three"}
    mark_requested(state, asked, "carrier")
    assert state.refetch.due(now, 9) == ()
    assert len(state.refetch.due(now + state.config.t_max, 9)) == 3


def test_a_packet_that_the_disk_altered_keeps_no_other_from_being_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = Group("a", settle=2000)
    first, *others = [group.send("a", f"message {place}").message_id for place in range(3)]
    state = group["a"].channel.state
    packet_of = ChannelState.packet_of
    monkeypatch.setattr(ChannelState, "packet_of", lambda self, name: None if name == first else packet_of(self, name))
    group.offline("a")
    group.tick(3_600_000)
    group.online("a")
    group.tick(3 * QUIET.sweep_interval)
    resent = [message.message_id for message in group["a"].messages("resend")]
    assert first in state.outgoing.open
    assert set(resent) == set(others)


@pytest.mark.parametrize(("asked_for", "answers"), [(False, 1), (True, 0)])
def test_requests_in_an_answer_that_was_asked_for_are_not_answered(asked_for: bool, answers: int) -> None:
    """They are as old as the message is."""
    group = Group("a", settle=2000)
    own = group.send("a", "own")
    if asked_for:
        group.give("a", forge("b", "child", group.now.wall, "parent"))
        group.tick(QUIET.t_max)
    group.give("a", forge("b", "parent", group.now.wall - 1000, requests=(own.message_id,)))
    group.tick(QUIET.t_max)
    assert len(group["a"].of(RepairResponded)) == answers
