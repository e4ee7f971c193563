"""Sections over a range of the history: how large they may grow, and how much work they may cause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds.bloom import compact
from sdschat.sds.bloom.compact import CompactFilter, RangePrint, read_filter
from sdschat.sds.config import Config
from sdschat.sds.events import FilterIgnored, PushScheduled, RangeDiffered
from sdschat.sds.steps.ranges import range_section
from sdschat.wire.sds_codec import SdsCodec
from tests.sds.group import QUIET, START, Group, forge

LARGE = replace(QUIET, push_enabled=True, bloom_layout="compact", bloom_capacity=64, causal_history=1, max_requests=1)
SMALL = replace(LARGE, max_message_bytes=1900)
SHAPE = compact.shape_for(8, 0.01)
WINDOW = compact.encode_window(0, SHAPE, SHAPE.bits, START + 5000)  # of a peer that has nothing lately
FIRST, LAST = START - 5000, START + 5000


def holder(config: Config, dates: range, count: int) -> Group:
    """A node that holds `count` messages, dated by turns as given, and has come to rest."""
    group = Group("a", config=config, settle=2000)
    for place in range(count):
        group.give("a", forge("c", f"{place:064}", dates[place % len(dates)]))
    group.tick(config.push_grace + 1)
    return group


def differ(group: Group, low: int, high: int, sender: str = "b", place: int = 0) -> None:
    """A peer whose history is another in this range."""
    section = compact.encode_print(RangePrint(low, high, 1, place))
    lamport = group.now.wall + place
    group.give("a", forge(sender, f"s{place}", lamport, content=None, bloom_filter=WINDOW + section))


def answer(group: Group) -> tuple[int, CompactFilter]:
    """The size of the next sync message, and its filter."""
    before = len(group["a"].messages("sync"))
    while len(group["a"].messages("sync")) == before:
        group.tick(60_000)
    packet = next(packet for packet in reversed(group["a"].sent) if packet.kind == "sync")
    found = read_filter(group["a"].messages("sync")[-1].bloom_filter or b"")
    assert isinstance(found, CompactFilter)
    return len(packet.raw), found


def test_an_answer_to_a_range_is_no_larger_than_a_packet_may_be() -> None:
    group = holder(SMALL, range(START, START + 1000), 1000)
    differ(group, FIRST, LAST)
    size, found = answer(group)
    assert found.range_filter is not None
    assert size <= SMALL.max_message_bytes


def test_an_answer_with_little_room_is_coarser_and_still_holds_everything() -> None:
    group = holder(SMALL, range(START, START + 1000), 1000)
    differ(group, FIRST, LAST)
    ranged = answer(group)[1].range_filter
    assert ranged is not None
    assert all(ranged.holds(message_id) for message_id in group["a"].log)
    assert sum(ranged.holds(f"other-{place}") for place in range(1000)) < 100


def test_an_answer_with_room_enough_is_as_fine_as_the_settings_say() -> None:
    group = holder(LARGE, range(START, START + 1000), 1000)
    differ(group, FIRST, LAST)
    ranged = answer(group)[1].range_filter
    assert ranged is not None
    assert (ranged.hashes, ranged.bits) == compact.shape_for(1000, LARGE.bloom_error_rate)


def test_a_range_is_left_out_where_a_filter_over_it_would_say_nothing() -> None:
    state = holder(LARGE, range(START, START + 100), 100)["a"].channel.state
    sizes = {}
    for room in range(0, 400, 3):
        state.ranges.wanted = (FIRST, LAST)
        sizes[room] = len(range_section(state, START, room))
    assert all(size <= room for room, size in sizes.items())
    assert [room for room, size in sizes.items() if size == 0] == list(range(0, 72, 3))


def test_no_filter_grows_beyond_what_is_read_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdschat.sds.steps.ranges.MAX_FILTER_BYTES", 2000)
    group = holder(LARGE, range(START, START + 1000), 1000)
    differ(group, FIRST, LAST)
    assert answer(group)[1].range_filter is not None
    assert len(group["a"].messages("sync")[-1].bloom_filter or b"") <= 2000


def test_what_a_small_limit_hides_at_first_is_found_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.sds.group.CODEC", SdsCodec(SMALL.max_message_bytes))
    config = replace(SMALL, sync_interval=30_000)
    group = Group("a", "b", config=config, settle=2000)
    for place in range(1500):  # a crowd of one date, which is one range
        packet = forge("c", f"{place:064}", START)
        group.give("a", packet)
        if place not in (300, 301, 302):
            group.give("b", packet)
    group.tick(20 * config.sync_interval)
    assert group["a"].log == group["b"].log


def ranged(group: Group, body: bytes, hashes: int = 7, sender: str = "b") -> None:
    """A peer's sync message with this body of a range filter over everything."""
    head = compact._RANGE_HEAD.pack(compact.RANGE, hashes, 0, 8 * len(body), 0, 0, 0xFFFF, 0xFFFFFFFF, 9)
    group.give("a", forge(sender, "s", group.now.wall, content=None, bloom_filter=WINDOW + head + body))


@pytest.mark.parametrize(("sender", "pushed"), [("b", 10), ("c", 0)])
def test_what_a_range_filter_lacks_is_pushed_to_its_sender_and_never_to_the_author(sender: str, pushed: int) -> None:
    group = holder(LARGE, range(START, START + 10), 10)
    ranged(group, bytes(100), sender=sender)
    assert [event.wanted_by for event in group["a"].of(PushScheduled)] == [sender] * pushed


def test_of_what_a_range_filter_lacks_no_more_is_pushed_than_a_review_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdschat.sds.steps.range_review.PUSHES_PER_REVIEW", 4)
    group = holder(LARGE, range(START, START + 10), 10)
    ranged(group, bytes(100))
    assert len(group["a"].of(PushScheduled)) == 4


@pytest.mark.parametrize(("ones", "ignored"), [(60, False), (61, True), (100, True)])
def test_a_range_filter_that_is_too_full_is_ignored_like_any_other(ones: int, ignored: bool) -> None:
    group = holder(LARGE, range(START, START + 10), 10)
    ranged(group, ((1 << 8 * ones) - 1).to_bytes(100, "little"))
    told = [event.reason for event in group["a"].of(FilterIgnored)]
    assert told == ([f"its range is {ones}% full"] if ignored else [])


def test_a_peer_s_ranges_are_compared_no_more_often_than_its_filters() -> None:
    group = holder(LARGE, range(START, START + 10), 10)
    for place in range(20):
        differ(group, FIRST, LAST, place=place)
    assert len(group["a"].of(RangeDiffered)) == 1
    group.tick(LARGE.push_grace)
    differ(group, FIRST, LAST, place=20)
    assert len(group["a"].of(RangeDiffered)) == 2


def test_one_peer_s_ranges_do_not_keep_others_from_being_compared() -> None:
    group = holder(LARGE, range(START, START + 10), 10)
    differ(group, FIRST, LAST, "b")
    differ(group, FIRST, LAST, "d")
    assert [event.sender_id for event in group["a"].of(RangeDiffered)] == ["b", "d"]


def test_what_lacks_below_everything_that_is_held_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """b has just one range, and lacks what is dated before. It joined after a, and does not speak of what a's oldest
    range begins with; and that is in nobody's filter any more."""
    monkeypatch.setattr("sdschat.sds.steps.ranges.RANGE_IDS", 64)
    group = Group("a", config=replace(LARGE, sync_interval=30_000, bloom_capacity=16), settle=2000)
    group.add("b")
    group.passes = lambda flight: flight.packet.kind == "sync"
    for place in range(65):
        message = forge("c", f"{place:064}", START + place)
        for name in ("a", "b") if place else ("a",):
            group.give(name, message)
    group.passes = lambda flight: True
    group.tick(600_000)
    assert group["b"].log == group["a"].log


def test_what_lacks_between_the_log_and_the_filter_is_found() -> None:
    """b has the beginning of a chain in its log, and the end of it waits for the middle. That is more than its filter
    holds, which therefore speaks of the end alone; and b's log ends before it begins."""
    config = replace(LARGE, sync_interval=30_000, bloom_capacity=16, repair_enabled=False)
    group = Group("a", config=config, settle=2000)
    group.add("b")  # joined after a, it does not compare what a's oldest range begins with
    for place in range(100):
        message = forge("c", f"m{place:03}", START + place, *((f"m{place - 1:03}",) if place else ()))
        for name in ("a", "b") if place < 4 or place >= 80 else ("a",):
            group.give(name, message)
    group.tick(300_000)
    assert group["b"].log == group["a"].log


@pytest.mark.parametrize(("unproven", "theirs", "lacking"), [(False, 50, 40), (False, 3, 0), (True, 50, 0)])
def test_what_a_peer_has_beyond_ours_counts_if_it_signed_that(unproven: bool, theirs: int, lacking: int) -> None:
    group = holder(LARGE, range(START, START + 10), 10)
    section = compact.encode_print(RangePrint(FIRST, LAST, theirs, 1))
    packet = forge("b", "s1", group.now.wall, content=None, bloom_filter=WINDOW + section)
    group["a"].channel.receive_message(group.now, packet, b"", "live", unproven=unproven)
    group.collect("a")
    assert group["a"].of(RangeDiffered) == [RangeDiffered("b", FIRST, LAST, lacking)]


def _ranges(group: Group, names: int, unproven: bool) -> None:
    """Give a range of the whole log in so many names, each for the first time."""
    section = compact.encode_print(RangePrint(FIRST, LAST, 0, 1))
    for number in range(names):
        packet = forge(
            f"n{number} {unproven}", f"s{number}", group.now.wall, content=None, bloom_filter=WINDOW + section
        )
        group["a"].channel.receive_message(group.now, packet, b"", "live", unproven=unproven)
    group.collect("a")


@pytest.mark.parametrize("unproven", [False, True])
def test_ranges_in_ever_new_names_take_no_more_reading_than_a_minute_has(
    monkeypatch: pytest.MonkeyPatch, unproven: bool
) -> None:
    """Each took a thousand reads, and 125 bytes: a burst of strangers kept a node busy for ten minutes."""
    monkeypatch.setattr("sdschat.sds.state.RANGE_READS_PER_MINUTE", 100)
    group = holder(LARGE, range(START, START + 20), 20)
    _ranges(group, 50, unproven)
    assert len(group["a"].of(RangeDiffered)) == 5
    _ranges(group, 1, not unproven)
    assert len(group["a"].of(RangeDiffered)) == 6, "those who sign have reading of their own"
    group.tick(60_000)
    group["a"].channel.advance(group.now)
    _ranges(group, 50, unproven)
    assert len(group["a"].of(RangeDiffered)) == 11
