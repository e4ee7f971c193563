"""Text of others on a terminal, and moments as people read and write them."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from typing import Final

# Not drawn, or changing how what follows is drawn: control, format (direction!), surrogates, private use, unassigned.
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_JOINER: Final = "\u200d"  # holds emoji together
_AGO: Final = re.compile(r"(\d+)\s*(s|m|h|d|w)")
_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


def safe(text: str, *, lines: bool = False) -> str:
    """Nothing in it drives a terminal. With `lines`, line breaks stay."""
    if text.isprintable():
        return text
    return "".join(char if _harmless(char, lines) else _shown(char) for char in text)


def _harmless(char: str, lines: bool) -> bool:
    return char == _JOINER or (lines and char == "\n") or unicodedata.category(char) not in _UNSAFE


def _shown(char: str) -> str:
    known = {"\n": "\\n", "\t": "    ", "\r": "\\r"}
    return known.get(char) or f"\\u{{{ord(char):x}}}"


def moment(milliseconds: int) -> str:
    """Local time, to the second."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"@{milliseconds}"


def parse_moment(text: str, now: int) -> int:
    """Epoch milliseconds of 2026-01-31, 2026-01-31T15:00, 30m (ago) or epoch milliseconds. Raises ValueError."""
    text = text.strip()
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _UNITS[ago[2]]
    if text.isascii() and text.isdigit() and len(text) >= 11:
        return int(text)
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r} is no moment. Write 2026-01-31, 2026-01-31T15:00, 30m for half an hour ago, or epoch "
            "milliseconds."
        ) from None
