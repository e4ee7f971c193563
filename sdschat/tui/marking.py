"""Marks on the words of a search in the texts of a log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rich.segment import Segment
from rich.style import Style

_MARK: Final = Style(reverse=True)
_WORD: Final = re.compile(r"\w+")
_MOST: Final = 16


def pattern_of(words: str) -> re.Pattern[str] | None:
    """Return what is marked for these words: whole words, and of the last one also a beginning."""
    found = _WORD.findall(words)[:_MOST]
    if not found:
        return re.compile(re.escape(words.strip()), re.IGNORECASE) if words.strip() else None
    *whole, last = (re.escape(word) for word in found)
    tail = "" if words[-1].isalnum() else r"(?!\w)"
    parts = [rf"{word}(?!\w)" for word in whole] + [f"{last}{tail}"]
    start = r"(?<!\w)" if words.isascii() else ""  # there are scripts without spaces between words
    return re.compile(f"{start}(?:{'|'.join(parts)})", re.IGNORECASE)


def marked(line: Sequence[Segment], pattern: re.Pattern[str] | None) -> Iterator[Segment]:
    """Yield the segments of a text, with what the pattern matches marked."""
    for segment in line:
        at = 0
        for found in () if pattern is None else pattern.finditer(segment.text):
            low, high = found.span()
            if low > at:
                yield Segment(segment.text[at:low], segment.style)
            yield Segment(segment.text[low:high], (segment.style or Style()) + _MARK)
            at = high
        if at < len(segment.text):
            yield Segment(segment.text[at:], segment.style)
