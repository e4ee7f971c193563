"""Durations and sizes as people write them, quick to import for commands that need nothing else of a node."""

from __future__ import annotations

import re
from typing import Final

Value = str | int | float | bool
_UNITS: Final = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST: Final = 36525 * _UNITS["d"]  # durations are added to times that a database holds in 64 bits
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)")
SIZES: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE: Final = re.compile(r"(\d{1,18}(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?")


def duration(text: Value) -> int:
    """Return milliseconds from a number alone, or from one with ms, s, m, h or d behind it."""
    found = _DURATION.fullmatch(str(text).strip())
    if found is None or isinstance(text, bool):
        raise ValueError("must be a duration such as 500ms, 30s or 10m")
    length = float(found[1]) * _UNITS[found[2]]
    if length > _LONGEST:
        raise ValueError("must not be longer than a hundred years")
    return round(length)


def size(text: Value) -> int:
    """Return bytes from a number alone, or from one with K, M, G or T behind it; 0 for `none`, which is no limit."""
    word = str(text).strip().upper()
    found = _SIZE.fullmatch(word)
    length = round(float(found[1]) * SIZES[found[2]]) if found else 0
    if isinstance(text, bool) or (not length and word != "NONE"):
        raise ValueError("must be a size such as 500M or 20G, or none")
    return length
