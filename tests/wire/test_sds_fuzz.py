"""No bytes make the decoder raise, warn or take long."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sdschat.sds.values import Message, Reason, Refusal
from sdschat.wire.protobuf_scan import Malformed, fields
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.sds_pb2 import Message as PbMessage
from tests.wire.samples import CODEC, END_GROUP, GROUP, accepted, field, full_message, least, tag, varint

PACKET = CODEC.encode(full_message())
WIDE = SdsCodec(2**24)

pieces = st.one_of(
    st.builds(field, st.integers(1, 21), st.binary(max_size=40)),
    st.builds(field, st.integers(1, 21), st.integers(0, 2**64 - 1)),
    st.builds(lambda number, wire, rest: tag(number, wire) + rest, st.integers(0, 21), st.integers(0, 7), st.binary()),
    st.binary(max_size=12),
)


def _total(packet: bytes) -> None:
    result = WIDE.decode(packet)
    assert isinstance(result, Message | Refusal)
    if isinstance(result, Message):
        # An accepted message can be sent on, and decodes to the same message again.
        assert accepted(CODEC.encode(result)) == result
    else:
        assert result.reason in Reason
        assert result.detail


@given(st.binary(max_size=400))
@example(tag(1, END_GROUP))
@example(tag(30, GROUP) * 5000)
@example(b"\x80" * 11)
@example(b"\x00\x00")
@example(varint(2**35) + b"\x00")
def test_arbitrary_bytes(packet: bytes) -> None:
    _total(packet)


@given(st.lists(pieces, max_size=12).map(b"".join), st.booleans())
def test_arbitrary_fields(packet: bytes, complete: bool) -> None:
    _total(least(packet) if complete else packet)


@given(st.data())
def test_mutated_packets(data: st.DataObject) -> None:
    packet = bytearray(PACKET)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(packet)))
        gone = data.draw(st.integers(0, 4))
        packet[at : at + gone] = data.draw(st.binary(max_size=4))
    _total(bytes(packet))


@given(st.lists(pieces, max_size=6).map(b"".join))
def test_careful_reader_takes_what_the_parser_takes(packet: bytes) -> None:
    try:
        PbMessage.FromString(packet)
    except Exception:
        with suppress(Malformed):
            list(fields(packet))
    else:
        found = list(fields(packet))
        assert [f.start for f in found[1:]] == [f.end for f in found[:-1]]
        assert not packet or found[-1].end == len(packet)


def test_no_packet_takes_much_longer_than_a_walk_over_its_bytes() -> None:
    """All of these are as large as a packet may be, or made for the slowest way through the decoder."""
    size = 65_000
    hostile = {
        "unknown": least(field(30, 0) * (size // 3)),
        "duplicates": least(field(20, b"") * (size // 3)),
        "malformed at the end": least(field(30, 0) * (size // 3)) + b"\xff",
        "entries and malformed": least(field(11, field(1, "x")) * (size // 5)) + b"\xff",
        "groups": least((tag(30, GROUP) * 50 + tag(30, END_GROUP) * 50) * (size // 200)),
        "a long group": least(tag(30, GROUP) + field(1, 0) * (size // 2) + tag(30, END_GROUP)),
        "deep groups": least(tag(30, GROUP) * (size // 2)),
        "full and not shortest": least(field(11, field(1, "x") + field(3, "y")) * 256 + field(30, 0) * 100),
    }
    walk = min(_seconds(sum, map(int, bytes(size))) for _ in range(5))
    for name, packet in hostile.items():
        best = min(_seconds(CODEC.decode, packet) for _ in range(5))
        assert best < 16 * walk, f"{name}: {best / walk:.1f} walks"


def _seconds(work: Callable[[Any], object], on: object) -> float:
    start = time.process_time()
    work(on)
    return time.process_time() - start
