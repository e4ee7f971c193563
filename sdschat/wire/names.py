"""Checks of names on the wire."""

from __future__ import annotations

import re
from typing import Final

# Not `str.isprintable`: it also refuses spaces of other scripts and characters newer than this Python's Unicode, so two
# peers with different Pythons would disagree about a packet.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


def has_control(text: str) -> bool:
    """True if the text holds a control character (Unicode category Cc)."""
    # Nearly every name is printable, and that check is several times faster than a search.
    return not text.isprintable() and _CONTROL.search(text) is not None


def longer_than(text: str, limit: int) -> bool:
    """True if the text has more than `limit` bytes of UTF-8."""
    return len(text) > limit or (not text.isascii() and len(text.encode()) > limit)


def readable(text: str, limit: int) -> str:
    """Return the text if a report about a bad packet can show it, else an empty text."""
    return "" if longer_than(text, limit) or has_control(text) else text
