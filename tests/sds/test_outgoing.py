"""The arithmetic of acknowledgement."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.bloom.own import OwnFilter
from sdschat.sds.config import Config
from sdschat.sds.events import MessageRetired, StateChanged
from sdschat.sds.limits import FILTER_REVIEW, POSSIBLY_ACKED_KEPT, REMEMBERED_MISSES, SETTLED_KEPT
from sdschat.sds.outgoing import Outgoing, OutgoingBuffer
from sdschat.sds.steps.acks import _make_room, acknowledged, review_equal_range
from sdschat.sds.values import AckState, Evidence, OutgoingRow, Table
from sdschat.sim.generate import limits
from tests.sds.group import QUIET, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of

senders = st.sampled_from("abcdefgh")
pieces = st.lists(st.tuples(senders, st.sampled_from(["mention", "filter"]), st.floats(0, 1)), max_size=20)


def known(*rates: float, how: str = "filter") -> Outgoing:
    message = Outgoing("m1", 5)
    for place, rate in enumerate(rates):
        message.note(Evidence(f"p{place}", how, f"s{place}", 0, rate))
    return message


def test_a_mention_is_enough() -> None:
    assert acknowledged(known(0.0, how="mention"))


def test_one_filter_is_not_however_certain() -> None:
    assert not acknowledged(known(1e-30))


def test_two_filters_are_where_one_of_them_is_at_one_in_a_million() -> None:
    assert acknowledged(known(1e-3, 1e-6))


def test_two_filters_are_not_above_one_in_a_million() -> None:
    assert not acknowledged(known(1.1e-6, 1.1e-6))


@pytest.mark.parametrize(("filter_format", "most"), [("compact", 15), ("waku", 4000)])
def test_filters_acknowledge_only_while_they_hold_few_ids(filter_format: str, most: int) -> None:
    """The figures that the page of the engine names, within a fifth."""
    config = Config()

    def rate(count: int) -> float:
        own = OwnFilter(filter_format, config.bloom_capacity, config.bloom_error_rate, 0)
        own.restart([(place, f"{place:064x}") for place in range(count)], 0, 0)
        received = read_filter(own.to_bytes())
        assert not isinstance(received, str)
        return received.fill**received.hashes

    assert acknowledged(known(rate(most * 9 // 10), rate(most * 9 // 10)))
    assert not acknowledged(known(rate(most * 12 // 10), rate(most * 12 // 10)))


def test_more_witnesses_do_not_make_up_for_fuller_filters() -> None:
    assert not acknowledged(known(*[0.01] * 10))


def test_nothing_is_not_enough() -> None:
    assert not acknowledged(Outgoing("m1", 5))


@given(pieces)
@settings(max_examples=200, deadline=None)
def test_more_evidence_never_takes_an_acknowledgement_back(found: list[tuple[str, str, float]]) -> None:
    message = Outgoing("m1", 5)
    before = False
    for sender, how, rate in found:
        if sender in message.evidence:
            continue
        message.note(Evidence(sender, how, "s", 0, 0.0 if how == "mention" else rate))
        now = acknowledged(message)
        assert now or not before
        before = now


def test_open_messages_from_a_date_on_come_newest_first() -> None:
    buffer = OutgoingBuffer()
    for place in range(5):
        buffer.add(Outgoing(f"m{place}", place))
    buffer.settle(buffer.open["m3"])
    assert [message.message_id for message in buffer.newest_first(2)] == ["m4", "m2"]


@given(st.permutations(range(20)), st.sets(st.integers(0, 19), max_size=8))
@settings(max_examples=200, deadline=None)
def test_evidence_counts_for_just_those_that_are_open_settled_or_left(order: list[int], certain: set[int]) -> None:
    buffer = OutgoingBuffer()
    with limits((("POSSIBLY_ACKED_KEPT", 4), ("RETIRED_KEPT", 3), ("SETTLED_KEPT", 2))):
        for place in range(20):
            buffer.add(Outgoing(f"m{place:02}", place))
        for place in order + sorted(certain):
            message = buffer.known.get(f"m{place:02}")
            if message is None:
                continue
            if message.state is AckState.UNACKED:
                buffer.possibly(message)
            else:
                buffer.settle(message)
            left = {f"m{place:02}" for place in range(20) if f"m{place:02}" in buffer.retired}
            assert set(buffer.known) == set(buffer.open) | set(buffer.settled) | left


def test_of_those_possibly_acknowledged_only_the_newest_stay() -> None:
    buffer = OutgoingBuffer()
    for place in range(POSSIBLY_ACKED_KEPT + 10):
        message = Outgoing(f"m{place:05}", place)
        buffer.add(message)
        buffer.arm(message, 99)
        if place:  # the oldest is not acknowledged at all
            buffer.possibly(message)
        if place == 5:
            buffer.settle(message)
    assert len(buffer.open) == POSSIBLY_ACKED_KEPT + 1
    assert "m00000" in buffer.open
    assert ("m00009" in buffer.open, "m00009" in buffer.timers) == (False, False)
    assert buffer.changed["m00009"].state is AckState.POSSIBLY_ACKED


def channel_with_one_peer(messages: int) -> Group:
    """A node a that says so much, and only ever hears what one peer's filter holds: all of it."""
    group = Group("a")
    ids = [group.send("a", f"message {place}").message_id for place in range(messages)]
    for place in range(0, messages, 512):
        told = filter_of(*ids, capacity=messages)
        group.give("a", forge("b", f"s{place}", group.now.wall, content=None, bloom_filter=told))
    return group


def test_with_one_peer_that_never_mentions_anything_the_buffer_stays_bounded() -> None:
    group = channel_with_one_peer(POSSIBLY_ACKED_KEPT + 600)
    outgoing = group["a"].channel.state.outgoing
    assert len(outgoing.open) == POSSIBLY_ACKED_KEPT
    assert {message.state for message in outgoing.open.values()} == {AckState.POSSIBLY_ACKED}


def left_behind(group: Group) -> list[str]:
    return [event.message_id for event in group["a"].of(MessageRetired)]


def test_what_leaves_the_buffer_is_told_and_does_not_come_back_with_a_restart() -> None:
    with limits((("POSSIBLY_ACKED_KEPT", 4),)):
        group = channel_with_one_peer(10)
        ids = group["a"].log
        assert left_behind(group) == ids[:6]
        group.crash("a")
        assert list(group["a"].channel.state.outgoing.open) == ids[6:]
        before = len(group["a"].sent)
        group.tick(1)
        assert [packet.message_id for packet in group["a"].sent[before:] if packet.kind == "resend"] == []


@pytest.mark.parametrize("restarted", [False, True])
def test_a_mention_acknowledges_what_has_left_the_buffer(restarted: bool) -> None:
    with limits((("POSSIBLY_ACKED_KEPT", 4),)):
        group = channel_with_one_peer(10)
        if restarted:
            group.crash("a")
        old = group["a"].log[2]
        group.give("a", forge("b", "says", group.now.wall + 1000, old))
        told = [(event.message_id, event.state) for event in group["a"].of(StateChanged)]
        assert told[-1] == (old, AckState.ACKED)
        assert row_of(group, old).state is AckState.ACKED


def row_of(group: Group, message_id: str) -> OutgoingRow:
    row = group["a"].store.tables[Table.OUTGOING][message_id]
    assert isinstance(row, OutgoingRow)
    return row


def test_an_equal_range_acknowledges_what_has_left_the_buffer() -> None:
    with limits((("POSSIBLY_ACKED_KEPT", 4),)):
        group = channel_with_one_peer(10)
        review_equal_range(group["a"].channel.state, "b", "s1", group["a"].log)
        group.collect("a")
        assert {row_of(group, message_id).state for message_id in group["a"].log} == {AckState.ACKED}


def test_of_what_has_left_only_the_newest_are_remembered_over_a_restart_too() -> None:
    with limits((("POSSIBLY_ACKED_KEPT", 3), ("RETIRED_KEPT", 2))):
        group = channel_with_one_peer(10)
        ids = group["a"].log
        group.give("a", forge("b", "says", group.now.wall + 1000, ids[5]))  # makes room for none of the forgotten
        for restarted in (False, True):
            left = group["a"].channel.state.outgoing.retired
            assert [message_id in left for message_id in ids] == [place == 6 for place in range(10)], restarted
            group.crash("a")


def test_what_becomes_possibly_acknowledged_after_a_newer_one_left_leaves_at_once() -> None:
    with limits((("POSSIBLY_ACKED_KEPT", 2),)):
        group = Group("a", settle=2000)
        ids = [group.send("a", f"message {place}").message_id for place in range(5)]
        for name, told in (("s1", ids[1:]), ("s2", ids[:1])):
            packed = filter_of(*told)
            group.give("a", forge("b" + name, name, group.now.wall, content=None, bloom_filter=packed))
        assert left_behind(group) == [*ids[1:3], ids[0]]
        assert list(group["a"].channel.state.outgoing.open) == ids[3:]


def test_a_filter_is_held_against_what_its_sender_did_not_yet_witness() -> None:
    # More than one review looks at: the next filter goes on where the last one stopped.
    group = Group("a", settle=2000)
    ids = [group.send("a", f"message {place}").message_id for place in range(FILTER_REVIEW + 5)]
    told = filter_of(*ids, capacity=len(ids))
    for place in range(2):
        group.give("a", forge("b", f"s{place}", group.now.wall, content=None, bloom_filter=told))
    changed = {event.message_id for event in group["a"].of(StateChanged) if event.evidence}
    assert changed == set(ids)


def test_a_filter_that_has_forgotten_the_oldest_still_acknowledges_the_newest() -> None:
    group = Group("a", settle=2000)
    ids = [group.send("a", f"message {place}").message_id for place in range(REMEMBERED_MISSES + 20)]
    told = filter_of(*ids[-5:])
    group.give("a", forge("b", "s1", group.now.wall, content=None, bloom_filter=told))
    assert [event.message_id for event in group["a"].of(StateChanged) if event.evidence] == ids[-5:]


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_acknowledged_is_held_against_a_filter_by_age(restarted: bool) -> None:
    """The order in which messages were acknowledged is on no disk, and after so many misses the rest is left alone."""
    group = Group("a", config=replace(QUIET, push_enabled=True), settle=2000)
    ids = [group.send("a", f"message {place}").message_id for place in range(4)]
    group.tick(1000)
    for place in (3, 0, 1, 2):
        group.give("a", forge("b", f"names {place}", group.now.wall, ids[place], content=None))
    assert not group["a"].channel.unacknowledged
    if restarted:
        group.crash("a")
    with limits((("REMEMBERED_MISSES", 2),)):
        told = filter_of(ids[0], ids[3])
        group.give("a", forge("c", "s1", group.now.wall, content=None, bloom_filter=told))
    seen = [event.message_id for event in group["a"].of(StateChanged) if event.perhaps == ("c",)]
    assert seen == [ids[3]]


def test_only_the_newest_acknowledged_are_remembered() -> None:
    buffer = OutgoingBuffer()
    for place in range(SETTLED_KEPT + 2):
        message = Outgoing(f"m{place:03}", place)
        buffer.add(message)
        buffer.settle(message)
    assert len(buffer.settled) == SETTLED_KEPT
    assert "m001" not in buffer.settled


def test_a_settled_message_is_acknowledged_and_not_to_be_resent() -> None:
    buffer = OutgoingBuffer()
    message = Outgoing("m1", 5)
    buffer.add(message)
    buffer.arm(message, 99)
    buffer.settle(message)
    assert (message.state, buffer.timers.next()) == (AckState.ACKED, None)


def test_a_message_that_waits_is_sent_again_at_once_when_asked_for_and_no_other() -> None:
    group = Group("a")
    message_id = group.send("a", "hello").message_id
    group.collect("a")
    assert not group["a"].channel.resend(group.now, "unknown")
    assert group["a"].channel.resend(group.now, message_id)
    group["a"].channel.advance(group.now)
    assert [packet.kind for packet in group["a"].channel.take().packets] == ["resend"]


def test_room_is_made_in_place_of_the_filter_that_is_likeliest_to_be_wrong() -> None:
    message = known(1e-3, 1e-9, 1e-2)
    mention = Evidence("p9", "mention", "s9", 0, 0.0)
    assert _make_room(message, message.evidence, mention)
    assert list(message.evidence) == ["p0", "p1"]
    assert not _make_room(message, message.evidence, Evidence("p8", "filter", "s8", 0, 1e-12))
    message.note(mention)
    assert _make_room(message, message.evidence, Evidence("p7", "range", "s7", 0, 2**-64))
    assert list(message.evidence) == ["p1", "p9"]


def test_there_is_no_room_where_all_is_certain() -> None:
    message = known(0.0, 0.0, how="mention")
    assert not _make_room(message, message.evidence, Evidence("p9", "mention", "s9", 0, 0.0))
    assert list(message.evidence) == ["p0", "p1"]
