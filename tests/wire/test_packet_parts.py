"""The sizes of a packet's parts."""

from __future__ import annotations

import random

import pytest

from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.packet_parts import PacketParts, parts
from sdschat.wire.protobuf_scan import fields
from tests.wire.samples import CODEC, field

SIZES = (0, 1, 127, 128, 16_383, 16_384, 40_000)


def test_the_parts_of_a_packet() -> None:
    message = Message(
        "s", "m", "c", 7, (HistoryEntry("a" * 30), HistoryEntry("b")), b"f" * 200, (HistoryEntry("c"),), b"content"
    )
    # Tags and lengths: two bytes for the field in an entry, two around the entry, four for the filter.
    assert parts(CODEC.encode(message)) == PacketParts(7, 200 + 3, (30 + 4) + (1 + 4), 1 + 4)


def test_the_parts_of_a_broken_packet_are_those_before_the_break() -> None:
    assert parts(field(20, b"abc") + b"\xff") == PacketParts(3, 0, 0, 0)
    assert parts(field(20, b"abc") + field(20, b"de") + field(99, b"x")) == PacketParts(5, 0, 0, 0)


def test_a_part_that_is_there_and_empty_has_a_tag_and_a_length() -> None:
    packet = field(1, b"s") + field(12, b"") + field(20, b"")
    assert parts(packet) == PacketParts(0, 2, 0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_the_parts_and_the_rest_are_the_whole_packet(seed: int) -> None:
    """The places of the fields say the same."""
    rng = random.Random(seed)
    entries = tuple(HistoryEntry(f"{at}" * rng.choice((1, 200)), b"h" * at or None, None) for at in range(5))
    content, bloom = (bytes(rng.choice(SIZES)) or None for _ in range(2))
    packet = CODEC.encode(Message("s", "m", "c", 7, entries[:2], bloom, entries[2:], content))
    found = parts(packet)
    every = list(fields(packet))
    rest = sum(each.end - each.start for each in every if each.number not in (11, 12, 13, 20))
    rest += sum(each.body - each.start for each in every if each.number == 20)
    assert rest + sum(found) == len(packet)
    assert found.filter == sum(each.end - each.start for each in every if each.number == 12)
    assert found.history == sum(each.end - each.start for each in every if each.number == 11)
