"""What a name on the wire may look like."""

from __future__ import annotations

import re
from typing import Final

# Not `str.isprintable`: that also refuses spaces of other scripts and what this Python's Unicode does not know yet,
# and two peers with different Pythons would disagree about a packet.
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f]")


def has_control(text: str) -> bool:
    """Whether there is a control character (Unicode category Cc) in it."""
    # Nearly every name is printable, and asking that is several times faster than a search.
    return not text.isprintable() and _CONTROL.search(text) is not None


def longer_than(text: str, limit: int) -> bool:
    """Whether the text takes more than `limit` bytes of UTF-8."""
    return len(text) > limit or (not text.isascii() and len(text.encode()) > limit)


def readable(text: str, limit: int) -> str:
    """The text, if it is fit to be shown in a report about a bad packet, else nothing."""
    return "" if longer_than(text, limit) or has_control(text) else text
