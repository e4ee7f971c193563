"""Protocol Buffers by hand: a field at a time, in ascending order, without what is empty."""

from __future__ import annotations

from collections.abc import Iterable

_VARINT, _SIZED = 0, 2


def varint(value: int) -> bytes:
    """A varint: seven bits a byte, the lowest first; negative numbers as 64 bits."""
    value %= 2**64
    found = b""
    while value >= 128:
        found += bytes([value % 128 + 128])
        value //= 128
    return found + bytes([value])


def zigzag(value: int) -> int:
    """The form of `sint64`: small numbers below zero stay short."""
    return 2 * value if value >= 0 else -2 * value - 1


def number(field: int, value: int) -> bytes:
    return varint(field * 8 + _VARINT) + varint(value) if value else b""


def sized(field: int, value: bytes | str) -> bytes:
    """A field of bytes or text; nothing if it is empty."""
    return part(field, value.encode() if isinstance(value, str) else value) if value else b""


def part(field: int, value: bytes) -> bytes:
    """A message inside a message, or one of many: written also if it is empty."""
    return varint(field * 8 + _SIZED) + varint(len(value)) + value


def packed(field: int, values: Iterable[int]) -> bytes:
    return sized(field, b"".join(map(varint, values)))
