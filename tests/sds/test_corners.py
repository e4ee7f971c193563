"""Corners of the engine that no single rule of the specification names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sdschat.sds.bloom import waku
from sdschat.sds.config import Config
from sdschat.sds.events import Delivered, DependenciesLost, RangeDiffered, RepairRequested
from sdschat.sds.steps.send import MessageTooLarge, TooManyUnacknowledged
from sdschat.sds.values import HistoryEntry, Message, Now
from sdschat.sim.generate import limits
from tests.sds.group import CODEC, FAR, QUIET, START, Group, forge

LIVELY = Config(id_rule="text")


def with_waku_peer() -> Group:
    group = Group("a")
    group.give("a", forge("w", "s1", START + 1, content=None, bloom_filter=bytes(waku.BYTES)))
    return group


def with_long_ids() -> Group:
    """Two heads and three due requests whose ids, senders and hints are as long as they may be."""
    group = Group("a")
    for place in range(2):
        group.give("a", forge("s" * 128, f"head-{place:0123}", START + 1))
        group["a"].channel.learn_hint(f"head-{place:0123}", b"h" * 64)
    for place in range(3):
        child = forge("s" * 128, f"child-{place:0122}", START + 2 + place)
        child.causal_history = (HistoryEntry(f"gone-{place:0123}", b"h" * 64, "s" * 128),)
        group.give("a", child)
    group.now = Now(START + QUIET.t_max, group.now.mono + QUIET.t_max)
    return group


@pytest.mark.parametrize("make", [with_waku_peer, with_long_ids])
def test_the_largest_message_that_is_sent_is_one_that_is_read(make: Callable[[], Group]) -> None:
    size = 0
    for content in range(40_000, 65_536, 64):
        group = make()
        try:
            group["a"].channel.send(group.now, b"x" * content)
        except MessageTooLarge:
            break
        size = content
        raw = group["a"].channel.take().packets[-1].raw
        assert isinstance(CODEC.decode(raw), Message), f"{content} bytes made {len(raw)}"
    assert size > 0


def test_a_message_that_is_too_large_changes_nothing() -> None:
    group = with_waku_peer()
    group.collect("a")
    with pytest.raises(MessageTooLarge):
        group["a"].channel.send(group.now, b"x" * 65_536)
    ready = group["a"].channel.take()
    assert (ready.packets, group["a"].log) == ([], [])


def test_more_own_messages_than_are_kept_unacknowledged_are_refused_until_one_is_acknowledged() -> None:
    with limits((("UNACKED_KEPT", 3),)):
        group = Group("a")
        ids = [group.send("a", f"message {place}").message_id for place in range(3)]
        with pytest.raises(TooManyUnacknowledged):
            group.send("a", "one too many")
        group.give("a", forge("b", "reply", group.now.wall + 10, ids[-1]))
        ids += ["reply", group.send("a", "the fourth").message_id]
        assert group["a"].log == ids


def test_the_same_content_twice_is_a_wrong_call_where_ids_are_made_of_content() -> None:
    group = Group("a", config=replace(QUIET, id_rule="content"))
    group.send("a", "hello")
    with pytest.raises(ValueError, match="already"):
        group.send("a", "hello")
    assert len(group["a"].log) == 1


def test_a_parent_from_the_far_future_does_not_silence_its_child() -> None:
    group = Group("a")
    group.give("a", forge("b", "child", START + 2, "parent"))
    group.give("a", forge("mallory", "parent", 2**42))
    group.tick(QUIET.lost_after + 1)
    assert "child" in group["a"].log


def test_nothing_is_given_up_because_the_process_was_not_running() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "child", START + 2, "parent"))
    later = QUIET.lost_after + 3_600_000
    group.now = Now(group.now.wall + later, group.now.mono + later)
    group.crash("a")
    group.tick(1000)
    assert group["a"].of(DependenciesLost) == []
    assert [event.message_ids for event in group["a"].of(RepairRequested)] == [("parent",)]


def test_a_message_that_only_overtook_its_parent_makes_no_repair_of_it() -> None:
    group = Group("a")
    group.give("a", forge("b", "child", START + 2, "parent"))
    group.give("a", forge("b", "parent", START + 1))
    assert [event.source for event in group["a"].of(Delivered)] == ["live", "live"]


def test_who_sees_that_it_lacks_something_says_so_soon_whatever_others_say() -> None:
    group = Group("a", "b", config=LIVELY, settle=10_000)
    group.send("b", "lost on the way")
    group.lose()
    group.passes = lambda flight: flight.packet.kind == "sync" and flight.sender == "b"
    while not group["a"].of(RangeDiffered):
        group.tick(1000)
    seen = group.now.mono
    spoken = len(group["a"].messages("sync"))
    while len(group["a"].messages("sync")) == spoken:
        group.give("a", forge("c", f"s{group.now.mono}", group.now.wall, content=None))
        group.tick(500)
    assert group.now.mono - seen <= LIVELY.sync_interval // 2 + LIVELY.push_delay_max + 1000


def test_a_wall_clock_a_day_back_loses_no_timer() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "child", START + 2, "parent"))
    group.now = Now(group.now.wall - 86_400_000, group.now.mono)
    group.tick(QUIET.t_max + 1)
    assert [event.message_ids for event in group["a"].of(RepairRequested)] == [("parent",)]


def test_what_a_sync_names_from_before_our_joining_is_asked_for_like_anything_missing_and_then_given_up() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "s1", group.now.wall, "from before", content=None))
    group.tick(QUIET.lost_after)
    asked = [event.message_ids for event in group["a"].of(RepairRequested)]
    assert len(asked) > 1
    assert set(asked) == {("from before",)}
    assert group["a"].of(DependenciesLost) == [DependenciesLost(("from before",))]
    group.tick(FAR)
    assert len(group["a"].of(RepairRequested)) == len(asked)


def test_joining_after_ten_thousand_messages_makes_no_storm() -> None:
    group = Group("a", settle=2000)
    long_ago = START - QUIET.max_skew - 20_000
    for place in range(10_000):
        group.give("a", forge(f"p{place % 50}", f"m{place}", long_ago + place, f"n{place}"))
    assert group["a"].channel.state.requests.missing == {}
    assert len(group["a"].log) == 10_000


def test_a_sync_that_names_the_unknown_ten_thousand_times_keeps_memory_flat() -> None:
    group = Group("a")
    for place in range(10_000):
        group.give("a", forge("b", f"s{place}", START + 1 + place, f"x{place}", content=None))
    state = group["a"].channel.state
    assert state.incoming.buffered == {}
    assert len(state.requests.missing) == 64
