"""A checksum in every row, so that what a disk has altered is noticed before it is used.

SQLite checks the structure of its pages but not the values in them. CRC-32 finds every single flipped byte, and it is
not meant against anything but accidents: who can write the file can make it fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

SqlValue = str | int | float | bytes | None


def row_sum(values: Iterable[SqlValue]) -> int:
    """Packets and keys go in by a checksum of their own: their text form would be four times as long."""
    parts = [str(crc32(value)) if type(value) is bytes else str(value) for value in values]
    return crc32("\x1f".join(parts).encode("utf-8", "surrogatepass"))


def body_sum(message_id: str, raw: bytes) -> int:
    """Binds a packet to the message that it is the body of."""
    return crc32(raw, crc32(message_id.encode()))
