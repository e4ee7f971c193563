"""The plain reader at its bounds."""

from __future__ import annotations

import pytest

from sdschat.wire.protobuf_scan import Field, Malformed, fields, read_varint
from tests.wire.samples import BYTES, END_GROUP, FIXED32, FIXED64, GROUP, VARINT, field, tag


def why(packet: bytes) -> str:
    with pytest.raises(Malformed) as caught:
        list(fields(packet))
    return str(caught.value)


def group(number: int, inside: bytes = b"") -> bytes:
    return tag(number, GROUP) + inside + tag(number, END_GROUP)


def nested(depth: int) -> bytes:
    return tag(5, GROUP) * depth + tag(5, END_GROUP) * depth


def test_numbers_of_one_to_ten_bytes() -> None:
    assert read_varint(b"\x7f", 0, 1) == (127, 1)
    assert read_varint(b"\x80\x01", 0, 2) == (128, 2)
    assert read_varint(b"\xff" * 9 + b"\x01", 0, 10) == (2**64 - 1, 10)
    with pytest.raises(Malformed, match="a number of more than 10 bytes before byte 10"):
        read_varint(b"\xff" * 11, 0, 11)
    with pytest.raises(Malformed, match="ends in the middle of a number, at byte 1"):
        read_varint(b"\xff\x01", 0, 1)


def test_places_of_fields() -> None:
    packet = field(1, b"ab") + tag(2, FIXED64) + bytes(8) + tag(3, FIXED32) + bytes(4) + field(4, 300)
    assert list(fields(packet)) == [
        Field(1, BYTES, 0, 2, 4),
        Field(2, FIXED64, 4, 5, 13),
        Field(3, FIXED32, 13, 14, 18),
        Field(4, VARINT, 18, 19, 21),
    ]


def test_only_a_part_of_the_bytes_is_looked_at() -> None:
    packet = field(1, b"ab") + field(2, b"cd") + field(3, b"ef")
    assert [one.number for one in fields(packet, 4, 8)] == [2]


def test_field_numbers() -> None:
    assert [one.number for one in fields(tag(2**29 - 1, VARINT) + b"\0")] == [2**29 - 1]
    assert why(tag(2**29, VARINT) + b"\0") == "field number 536870912 at byte 0"
    assert why(tag(0, VARINT) + b"\0") == "field number 0 at byte 0"


def test_lengths() -> None:
    assert next(fields(tag(1, BYTES) + b"\x02ab")).end == 4
    assert why(tag(1, BYTES) + b"\x03ab") == "field 1 at byte 0 says 3 bytes, and 2 are left"
    assert why(tag(1, FIXED64) + bytes(7)) == "field 1 at byte 0 says 8 bytes, and 7 are left"
    assert why(tag(1, FIXED32) + bytes(3)) == "field 1 at byte 0 says 4 bytes, and 3 are left"
    assert why(tag(1, 6)) == "field 1 at byte 0 has the wire type 6, which does not exist"


def test_groups() -> None:
    assert next(fields(group(5, field(1, b"x")) + field(2, 1))) == Field(5, GROUP, 0, 1, 5)
    assert why(tag(5, END_GROUP)) == "the end of a group that never began, at byte 0"
    assert why(tag(5, GROUP) + tag(6, END_GROUP)) == "the end of another group, at byte 1"
    assert why(tag(5, GROUP) + tag(6, GROUP) + tag(5, END_GROUP)) == "the end of another group, at byte 2"


def test_how_deep_groups_may_be() -> None:
    assert len(list(fields(nested(100)))) == 1
    assert why(nested(101)) == "groups nested deeper than 100"


def test_how_many_fields_groups_may_have() -> None:
    """The bound is for all groups of a packet together, their ends included."""
    assert len(list(fields(group(5, field(1, 1) * 511)))) == 1
    assert why(group(5, field(1, 1) * 512)) == "more than 512 fields in groups, at byte 1025"
    assert len(list(fields(group(5, field(1, 1)) * 256))) == 256
    assert why(group(5, field(1, 1)) * 257).startswith("more than 512 fields in groups")
