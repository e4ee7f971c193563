"""Filters that say nothing: those of older versions of sdschat, whose bits depended on the version of mmh3, and others
of no known form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds.bloom import compact
from sdschat.sds.bloom.compact import CompactFilter, RangePrint, read_filter
from sdschat.sds.events import FilterIgnored, RangeDiffered
from sdschat.sds.limits import KIB
from sdschat.sds.values import AckState, Message
from tests.sds.group import CODEC, START, Group, forge
from tests.sds.test_pushes import PUSHING, holding, pushed
from tests.spec.test_s_026_to_040_receive import filter_of

SAID = "written by an older version of sdschat, to be updated there"


def old(packed: bytes) -> bytes:
    """The filter under the first byte that it had."""
    return b"\xc1" + packed[1:]


def test_a_filter_of_an_older_version_says_so() -> None:
    assert read_filter(old(filter_of("m1"))) == SAID


@pytest.mark.parametrize("tag", [0xC2, 0xC3])
def test_a_section_of_an_older_version_is_left_alone(tag: int) -> None:
    section = compact.encode_print(RangePrint(START, START, 1, 7))
    found = read_filter(filter_of("m1") + bytes([tag]) + section[1:])
    assert isinstance(found, CompactFilter)
    assert (found.range_print, found.range_filter) == (None, None)


def test_it_acknowledges_nothing() -> None:
    group = Group("a", config=PUSHING)
    mine = group.send("a", "hello")
    for sender in ("b", "c"):
        packed = old(filter_of(mine.message_id))
        group.give("a", forge(sender, f"s-{sender}", group.now.wall + 1, content=None, bloom_filter=packed))
    assert group["a"].channel.state.outgoing.open[mine.message_id].state is AckState.UNACKED
    assert [event.reason for event in group["a"].of(FilterIgnored)] == [SAID, SAID]


def test_a_filter_of_no_known_form_is_reported_whatever_its_length() -> None:
    """Through the codec, which left out one of more than 32 KiB without a word."""
    group = Group("a", config=PUSHING)
    sizes = (20, 33 * KIB, 60 * KIB)
    for at, size in enumerate(sizes):
        message = forge("b", f"m{at}", group.now.wall + at, bloom_filter=bytes([7]) * size)
        read = CODEC.decode(CODEC.encode(message))
        assert isinstance(read, Message)
        group.give("a", read)
        group.tick(PUSHING.push_grace)
    assert group["a"].delivered() == ["m0", "m1", "m2"]
    told = [event.reason for event in group["a"].of(FilterIgnored)]
    assert told == [f"unknown layout of {size} bytes" for size in sizes]


def test_what_it_seems_to_lack_is_not_sent_again() -> None:
    group = holding("m1", "m2")
    section = compact.encode_print(RangePrint(START, START + 9, 5, 7))
    for at in range(20):
        packed = old(filter_of()) + b"\xc2" + section[1:]
        group.give("a", forge("c", f"s{at}", group.now.wall, content=None, bloom_filter=packed))
        group.tick(7000)
    assert pushed(group) == []
    assert group["a"].of(RangeDiffered) == []


def test_its_message_is_taken_all_the_same() -> None:
    group = Group("a", config=PUSHING)
    group.give("a", forge("b", "m1", bloom_filter=old(filter_of("m0"))))
    assert group["a"].delivered() == ["m1"]


def test_two_versions_in_a_group_push_nothing_to_each_other() -> None:
    """Each ignores the filters of the other, which wears here the first byte that the older one knows."""
    group = Group("a", "b", config=replace(PUSHING, sync_interval=30_000))
    for at in range(30):
        group.send("ab"[at % 2], f"message {at}")
        deliver_as_old(group)
        group.tick(1000, delivering=False)
        deliver_as_old(group)
    for _ in range(600):
        group.tick(1000, delivering=False)
        deliver_as_old(group)
    assert len(group["a"].delivered()) == len(group["b"].delivered()) == 15
    assert len(group["a"].of(FilterIgnored)) > 10
    assert pushed(group) == [packet.message_id for packet in group["b"].sent if packet.kind == "push"] == []


def deliver_as_old(group: Group) -> None:
    while group.flying:
        flight = group.flying.pop(0)
        message = CODEC.decode(flight.packet.raw)
        assert isinstance(message, Message)
        if message.bloom_filter:
            message = replace(message, bloom_filter=old(message.bloom_filter))
        group.give(flight.receiver, message)
