"""A plain reader of protobuf's outermost layer, for packets about which the fast parser says too little.

The fast parser does not report skipped fields, the values of a repeated singular field, or the reason of a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
GROUP: Final = 3
END_GROUP: Final = 4
FIXED32: Final = 5

_FIXED_SIZE: Final = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT: Final = 10
_MAX_TAG: Final = 2**32
_MAX_DEPTH: Final = 100
_MAX_IN_GROUPS: Final = 512  # fields inside all groups of a packet; groups are obsolete in protobuf


class Malformed(ValueError):
    """The bytes are not protobuf; the text names the first byte at fault."""


class Field(NamedTuple):
    """The place of one field: its tag starts at `start`, its value (after any length) fills `body` to `end`."""

    number: int
    wire: int
    start: int
    body: int
    end: int


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the varint at `at`, and its end."""
    if at < end and data[at] < 0x80:  # most are of one byte
        return data[at], at + 1
    value = 0
    for count in range(_MAX_VARINT):
        if at >= end:
            raise Malformed(f"ends in the middle of a number, at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at
    raise Malformed(f"a number of more than {_MAX_VARINT} bytes before byte {at}")


def read_field(data: bytes, at: int, end: int) -> Field:
    """Return the field whose tag is at `at`. An end of group is a field without a value."""
    tag, body = read_varint(data, at, end)
    number, wire = tag >> 3, tag & 7
    if not number or tag >= _MAX_TAG:
        raise Malformed(f"field number {number} at byte {at}")
    if wire == VARINT:
        return Field(number, wire, at, body, read_varint(data, body, end)[1])
    if wire == BYTES:
        size, body = read_varint(data, body, end)
    elif wire in _FIXED_SIZE:
        size = _FIXED_SIZE[wire]
    elif wire in (GROUP, END_GROUP):
        return Field(number, wire, at, body, body)
    else:
        raise Malformed(f"field {number} at byte {at} has the wire type {wire}, which does not exist")
    if size > end - body:
        raise Malformed(f"field {number} at byte {at} says {size} bytes, and {end - body} are left")
    return Field(number, wire, at, body, body + size)


def fields(data: bytes, at: int = 0, end: int | None = None) -> Iterator[Field]:
    """Yield the fields of a message; a whole group counts as one field. Raises Malformed."""
    end = len(data) if end is None else end
    allowance = _MAX_IN_GROUPS
    while at < end:
        field = read_field(data, at, end)
        if field.wire == END_GROUP:
            raise Malformed(f"the end of a group that never began, at byte {at}")
        if field.wire == GROUP:
            group_end, allowance = _group_end(data, field, end, allowance)
            field = field._replace(end=group_end)
        yield field
        at = field.end


def _group_end(data: bytes, group: Field, end: int, allowance: int) -> tuple[int, int]:
    """Return the end of a group, and the rest of the allowance. No recursion: a packet can nest a thousand groups."""
    open_groups = [group.number]
    at = group.body
    while allowance:
        allowance -= 1
        field = read_field(data, at, end)
        at = field.end
        if field.wire == GROUP:
            open_groups.append(field.number)
            if len(open_groups) > _MAX_DEPTH:
                raise Malformed(f"groups nested deeper than {_MAX_DEPTH}")
        elif field.wire == END_GROUP and field.number != open_groups.pop():
            raise Malformed(f"the end of another group, at byte {field.start}")
        if not open_groups:
            return at, allowance
    raise Malformed(f"more than {_MAX_IN_GROUPS} fields in groups, at byte {at}")
