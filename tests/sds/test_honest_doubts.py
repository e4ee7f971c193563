"""Claims that the engine does not take from others on trust, and duties that it does not forget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds import limits
from sdschat.sds.bloom import compact, waku
from sdschat.sds.bloom.compact import RangePrint
from sdschat.sds.bloom.waku import WakuFilter
from sdschat.sds.config import Config
from sdschat.sds.events import (
    ClockAhead,
    DependenciesLost,
    FilterFormatChanged,
    FilterRolled,
    RangeDiffered,
    StateChanged,
)
from sdschat.sds.history import MemoryHistory
from sdschat.sds.steps.filters import HEARD_LATELY, IN_TURN, WAKU_REMEMBERED
from sdschat.sds.values import Entry, HistoryEntry, LogRow, Message, MissingRow, Table
from tests.sds.group import QUIET, START, Group, forge
from tests.spec.test_s_026_to_040_receive import filter_of

RANGES = replace(QUIET, push_enabled=True, push_delay_max=6000)


def waku_bytes(ones: int) -> bytes:
    return bytes([255] * ones + [0] * (waku.BYTES - ones))


@pytest.mark.parametrize(("ones", "layout"), [(0, "waku"), (waku.BYTES // 2, "waku"), (waku.BYTES * 2 // 3, "compact")])
def test_auto_follows_only_a_filter_that_can_be_believed(ones: int, layout: str) -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("w", "s1", group.now.wall, content=None, bloom_filter=waku_bytes(ones)))
    group.send("a", "hello")
    assert group["a"].channel.state.filter.filter_format == layout


def test_those_who_follow_a_peer_do_not_follow_each_other() -> None:
    """They did so for ever: one packet of this shape made each sync message of everybody 18 kB long."""
    group = Group("a", "b", "c", config=Config(id_rule="text"), settle=2000)
    for name in "abc":
        group.give(name, forge("w", "s1", group.now.wall, content=None, bloom_filter=waku_bytes(0)))
    group.tick(WAKU_REMEMBERED // 2)
    assert {group[name].channel.state.filter.filter_format for name in "abc"} == {"waku"}
    group.tick(WAKU_REMEMBERED)
    assert {group[name].channel.state.filter.filter_format for name in "abc"} == {"compact"}


def test_sync_messages_are_as_long_as_a_peer_needs_them_while_it_is_heard() -> None:
    """Later on few are, and the others have a range behind a short filter, so that members of our own make go on
    comparing their logs."""
    config = Config(id_rule="text")
    group = Group("a", "b", config=config, settle=2000)
    for number in range(20):
        group.say("a", f"line {number}")
    lately, later = HEARD_LATELY * config.sync_interval, WAKU_REMEMBERED - HEARD_LATELY * config.sync_interval
    for number in range(5):
        group.give("a", forge("w", f"s{number}", group.now.wall, content=None, bloom_filter=waku_bytes(0)))
        group["a"].sent.clear()
        group.tick(lately)
        sent = [message.bloom_filter or b"" for message in group["a"].messages("sync")]
        assert {len(packed) for packed in sent} == {waku.BYTES}
    group["a"].sent.clear()
    group.tick(later)
    sent = [message.bloom_filter or b"" for message in group["a"].messages("sync")]
    short = [compact.decode(packed) for packed in sent if len(packed) != waku.BYTES]
    assert 1 <= len(sent) - len(short) <= len(sent) // IN_TURN + 1
    assert all(isinstance(one, compact.CompactFilter) and one.range_filter is not None for one in short)


def test_a_participant_who_is_told_to_speak_as_the_peer_is_followed_as_the_peer() -> None:
    group = Group("a", config=Config(id_rule="text"))
    group.add("w", Config(id_rule="text", bloom_layout="waku"))
    group.tick(2 * WAKU_REMEMBERED)
    assert group["a"].channel.state.filter.filter_format == "waku"


def test_auto_does_not_follow_a_packet_that_is_refused() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("w", "m1", 0, bloom_filter=waku_bytes(0)))
    group.send("a", "hello")
    assert group["a"].channel.state.filter.filter_format == "compact"


def test_a_clock_far_ahead_of_the_wall_clock_is_told_with_every_packet() -> None:
    group = Group("a", settle=2000)
    group["a"].skew = -QUIET.max_skew - 60_000
    group.send("a", "dated ahead")
    ahead = group["a"].of(ClockAhead)
    assert len(ahead) == 1
    assert ahead[0].ahead > QUIET.max_skew
    group["a"].skew = 0
    group.send("a", "all is well")
    assert len(group["a"].of(ClockAhead)) == 1


def hints_sent(group: Group) -> list[bytes | None]:
    group.send("a", "next")
    return [entry.retrieval_hint for entry in group["a"].messages()[-1].causal_history]


def test_a_hint_that_a_store_confirmed_stands_above_what_others_say() -> None:
    group = Group("a", settle=2000)
    mine = group.send("a", "mine").message_id
    told = Message("b", "m1", "lobby", group.now.wall + 5, (HistoryEntry(mine, b"rumour", "a"),), content=b"x")
    group["a"].channel.receive_message(group.now, told, b"raw")
    group["a"].channel.learn_hint(mine, b"confirmed")
    group["a"].channel.learn_hint(mine, b"confirmed")
    group.collect("a")
    assert group["a"].channel.state.hints[mine] == b"confirmed"


def test_a_request_of_another_never_brings_ours_forward() -> None:
    group = Group("a", config=replace(QUIET, lost_after=24 * 3_600_000), settle=2000)
    group.give("a", forge("b", "m2", group.now.wall, "m1"))
    requests = group["a"].channel.state.requests
    while requests.missing["m1"].attempts < 4:
        group.tick(60_000)
    due = requests.missing["m1"].t_req
    assert due is not None
    group.give("a", forge("c", "s1", group.now.wall, content=None, requests=("m1",)))
    assert (requests.missing["m1"].t_req or 0) >= due


def test_time_without_a_transport_does_not_count_when_it_is_back_at_the_start() -> None:
    group = Group("a", settle=2000)
    group.give("a", forge("b", "m2", group.now.wall, "m1"))
    group.offline("a")
    group.tick(2 * QUIET.lost_after)
    group["a"].online = True
    group.crash("a")
    group.tick(QUIET.lost_after // 2)
    assert group["a"].of(DependenciesLost) == []
    group.tick(QUIET.lost_after)
    assert group["a"].of(DependenciesLost) == [DependenciesLost(("m1",))]


def test_a_dependency_that_no_row_speaks_of_and_nothing_has_room_for_is_a_gap() -> None:
    group = Group("a", settle=2000)
    now = group.now.wall
    group.give("a", forge("b", "child", now, "m1"))
    tables = group["a"].store.tables
    row = tables[Table.MISSING].pop("m1")
    assert isinstance(row, MissingRow)
    for place in range(limits.MISSING_PER_SENDER):
        tables[Table.MISSING][f"x{place}"] = row._replace(message_id=f"x{place}")
    group.crash("a")
    group.collect("a")
    assert group["a"].log == ["child"]
    assert not group["a"].channel.state.incoming.buffered
    assert not tables[Table.INCOMING]


def test_own_messages_keep_their_bodies_until_they_are_acknowledged() -> None:
    history = MemoryHistory(bodies=2)
    for place in range(5):
        history.append(LogRow(Entry(place, f"own{place}", "a"), b"raw", True, "live", 0))
    for place in range(5, 9):
        history.append(LogRow(Entry(place, f"other{place}", "b"), b"raw", False, "live", 0))
    assert [history.row(f"own{place}") is not None for place in range(5)] == [True] * 5
    assert [history.row(f"other{place}") is not None for place in range(5, 9)] == [False, False, True, True]
    history.acknowledged("own0")
    history.acknowledged("own1")
    history.acknowledged("own2")
    assert [history.row(f"own{place}") is not None for place in range(5)] == [False, True, True, True, True]


def with_print(low: int, high: int, *ids: str) -> bytes:
    return filter_of() + compact.encode_print(RangePrint(low, high, len(ids), compact.fingerprint(list(ids))))


def test_an_equal_range_acknowledges_what_was_compared_and_no_more() -> None:
    # So many of one date that not all of them are looked at.
    group = Group("a", config=RANGES, settle=2000)
    own = group.send("a", "mine").message_id
    date = group["a"].channel.state.outgoing.open[own].lamport
    first = [f"!{place:05}" for place in range(limits.ONE_DATE_LIMIT)]  # all before our own in the order of ids
    for message_id in first:
        group.give("a", forge("b", message_id, date))
    group.tick(10_000)
    group.give("a", forge("b", "s1", group.now.wall, content=None, bloom_filter=with_print(date, date, *first)))
    assert [event for event in group["a"].of(StateChanged) if event.evidence and event.evidence.how == "range"] == []


def test_a_crowd_of_one_date_is_compared_whole() -> None:
    group = Group("a", config=RANGES, settle=2000)
    date = group.now.wall
    ids = [f"m{place:05}" for place in range(limits.RANGE_LIMIT + 10)]
    for message_id in ids:
        group.give("a", forge("b", message_id, date))
    group.tick(10_000)
    more = with_print(date, date, *ids, "one-more")
    group.give("a", forge("b", "s1", group.now.wall, content=None, bloom_filter=more))
    assert group["a"].of(RangeDiffered) == [RangeDiffered("b", date, date, 1)]


def test_every_part_of_a_log_with_a_crowd_is_in_some_range() -> None:
    group = Group("a", config=replace(Config(), id_rule="text"), settle=2000)
    date = group.now.wall
    for place in range(limits.RANGE_LIMIT + 10):
        group.give("a", forge("b", f"m{place:05}", date))
    for place in range(5):
        group.give("a", forge("b", f"later{place}", date + 1 + place))
    group.tick(200_000)
    prints = [compact.decode(message.bloom_filter or b"") for message in group["a"].messages("sync")]
    ranges = {
        (found.range_print.low, found.range_print.high, found.range_print.ids)
        for found in prints
        if not isinstance(found, str) and found.range_print is not None
    }
    assert (date + 1, date + 5, 5) in ranges
    assert (date, date, limits.RANGE_LIMIT + 10) in ranges


def test_a_change_of_format_keeps_what_came_late_in_the_filter() -> None:
    """A clock ahead of all others': what they write is dated before our joining. Their anti-entropy would send for ever
    what our filter lacks."""
    group = Group("a", config=replace(QUIET, bloom_layout="auto"))
    slow = forge("b", "slow", START - QUIET.max_skew - 1)
    group.give("a", slow)
    group.give("a", forge("c", "s1", START + 1, content=None, bloom_filter=bytes(waku.BYTES)))
    before = group.send("a", "now of that layout").bloom_filter
    group.crash("a")
    after = group.send("a", "and after a restart").bloom_filter
    assert [WakuFilter(packed or b"").holds("slow") for packed in (before, after)] == [True, True]


def test_a_change_of_format_starts_no_new_generation_where_the_new_filter_has_room_for_all() -> None:
    group = Group("a", config=replace(QUIET, bloom_capacity=64), settle=2000)
    group.give("a", forge("w", "s1", group.now.wall, content=None, bloom_filter=waku_bytes(0)))
    for place in range(28):
        group.give("a", forge("b", f"m{place}", START + 5000 + place))
    group.send("a", "as the peer speaks")
    group.tick(WAKU_REMEMBERED + 1000)
    group.send("a", "the peer is gone")
    assert [event.filter_format for event in group["a"].of(FilterFormatChanged)] == ["waku", "compact"]
    assert group["a"].of(FilterRolled) == []


def back_from_waku(count: int) -> Group:
    """A group that spoke waku, took in so many messages meanwhile, and speaks compact again."""
    group = Group("a", config=replace(QUIET, bloom_capacity=64), settle=2000)
    group.give("a", forge("w", "s1", group.now.wall, content=None, bloom_filter=waku_bytes(0)))
    group.send("a", "as the peer speaks")
    for place in range(count):
        group.give("a", forge("b", f"m{place}", START + 5000 + place))
    group.tick(WAKU_REMEMBERED + 1000)
    group.send("a", "the peer is gone")
    return group


def test_a_change_of_format_begins_anew_with_the_newest_where_the_new_filter_has_no_room_for_all() -> None:
    group = back_from_waku(60)
    sent = compact.decode(group["a"].messages()[-1].bloom_filter or b"")
    assert isinstance(sent, compact.CompactFilter)
    assert sent.floor == START + 5000 + 28
    assert all(sent.holds(f"m{place}") for place in range(28, 60))
    assert sum(sent.holds(f"m{place}") for place in range(28)) < 3
    assert group["a"].of(FilterRolled) == [FilterRolled(2, sent.floor)]


@pytest.mark.parametrize(("count", "generation"), [(30, 1), (31, 2)])
def test_a_change_of_format_begins_anew_where_a_generation_would_have_one_id_too_many(
    count: int, generation: int
) -> None:
    assert [event.generation for event in back_from_waku(count)["a"].of(FilterRolled)] == [generation]
