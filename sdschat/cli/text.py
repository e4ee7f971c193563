"""Foreign text made safe for a terminal, and numbers and times as people read and write them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from sdschat.identity.sanitize import harmless

_AGO: Final = re.compile(r"(\d+)\s*(s|m|h|d|w)")
_UNITS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


def safe(text: str, *, lines: bool = False) -> str:
    """Return the text without anything that drives a terminal. With `lines`, line breaks stay."""
    return harmless(text, lines=lines)


def counted(number: int, thing: str) -> str:
    """Return a count with its noun: 1 message, 2,000 messages."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def moment(milliseconds: int) -> str:
    """Return a time as local time, to the second."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"@{milliseconds}"


def parse_moment(text: str, now: int) -> int:
    """Return epoch milliseconds of 2026-01-31, 2026-01-31T15:00, 30m (ago) or epoch milliseconds; else ValueError."""
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
