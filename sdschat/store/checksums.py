"""Checksums of rows, so that a row altered by the disk is noticed before it is used.

SQLite checks the structure of its pages but not the values in them. CRC-32 finds every single flipped byte. It protects
against accidents only: a program that can write the file can also make the checksum fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

SqlValue = str | int | float | bytes | None


def row_sum(values: Iterable[SqlValue]) -> int:
    """Checksum of a row. Bytes count by a checksum of their own: their text form would be four times as long."""
    parts = [str(crc32(value)) if type(value) is bytes else str(value) for value in values]
    return crc32("\x1f".join(parts).encode("utf-8", "surrogatepass"))


def small_sum(values: Iterable[SqlValue]) -> int:
    """`row_sum` as a number with a sign, which SQLite keeps in four bytes; one without a sign takes six, every other
    time."""
    total = row_sum(values)
    return total - (1 << 32) if total >= 1 << 31 else total


def body_sum(message_id: str, raw: SqlValue) -> int:
    """Checksum of a packet, bound to the id of its message; -1, which no packet has, where a damaged row holds none."""
    return crc32(raw, crc32(message_id.encode())) if isinstance(raw, bytes) else -1
