"""Durations, sizes and moments in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

NOTHING: Final = "\u2013"


def duration(ms: float | None) -> str:
    if ms is None:
        return NOTHING
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if abs(ms) >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.3g} ms"


def size(count: float) -> str:
    for unit, amount in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= amount:
            return f"{count / amount:.3g} {unit}"
    return f"{count:.0f} B"


def moment(ms: int | None) -> str:
    if not ms:
        return NOTHING
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"@{ms}"
