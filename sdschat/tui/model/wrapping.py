"""Breaking text into lines of a terminal, by cells rather than letters."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final

from rich.cells import cell_len, split_graphemes

_RIGHT_TO_LEFT: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
_WORD: Final = re.compile(r"\S+\s*|\s+")


def wrapped(text: str, width: int) -> list[tuple[int, int]]:
    """Return start and end of each line. A word longer than a line is cut; spaces at a break are left out."""
    width = max(1, width)
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        found += ((start + low, start + high) for low, high in _line(line, width))
        start += len(line) + 1
    return found


def _line(line: str, width: int) -> Iterator[tuple[int, int]]:
    if len(line) <= width and (line.isascii() or cell_len(line) <= width):
        yield 0, len(line)
        return
    low = high = used = 0
    for word in _WORD.finditer(line):
        body = word.group().rstrip()
        size = cell_len(body)
        if used and used + size > width:
            yield low, low + len(line[low:high].rstrip())
            low, used = word.start(), 0
        if size > width:
            low, used = yield from _cut(line, low, word.start(), word.start() + len(body), used, width)
        else:
            used += size
        high = word.end()
        used += len(word.group()) - len(body)
    yield low, max(low, low + len(line[low:high].rstrip()))


def _cut(
    line: str, low: int, at: int, end: int, used: int, width: int
) -> Generator[tuple[int, int], None, tuple[int, int]]:
    """Yield full lines of a word wider than a line, with every emoji whole. Return start and width of its rest."""
    spans, _ = split_graphemes(line[at:end])
    for first, _, size in spans:
        if used + size > width and at + first > low:
            yield low, at + first
            low, used = at + first, 0
        used += size
    return low, used


def goes_left(text: str) -> bool:
    """True if a terminal may draw some of the text from right to left, and with it what stands beside the text. Then
    the text must stand between `ISOLATE` and `END_OF_ISOLATE`, which take no room."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def fitted(text: str, width: int, cut: str = "~") -> str:
    """Return the text, cut or filled with spaces to exactly this width in cells."""
    size = cell_len(text)
    if size > width:
        text = text[: width - 1] if text.isascii() else _shortened(text, width - 1)
        text += cut
        size = cell_len(text)
    return text + " " * (width - size)


def whole_parts(text: str, width: int) -> str:
    """Return as many of the parts, which commas separate, as fit into this width; the first in any case."""
    while cell_len(text) > width and ", " in text:
        text = text.rpartition(", ")[0]
    return text


def _shortened(text: str, width: int) -> str:
    used = 0
    spans, _ = split_graphemes(text)
    for first, _, size in spans:
        used += size
        if used > width:
            return text[:first]
    return text
