"""Breaking text into lines of a terminal, by cells rather than letters."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final

from rich.cells import cell_len, get_character_cell_size

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
    """Yield full lines of a word wider than a line. Return start and width of its rest."""
    while at < end:
        size = get_character_cell_size(line[at])
        if used + size > width and at > low:
            yield low, at
            low, used = at, 0
        used += size
        at += 1
    return low, used


def fitted(text: str, width: int, cut: str = "~") -> str:
    """Return the text, cut or filled with spaces to exactly this width in cells."""
    size = cell_len(text)
    if size > width:
        text = text[: width - 1] if text.isascii() else _shortened(text, width - 1)
        text += cut
        size = cell_len(text)
    return text + " " * (width - size)


def _shortened(text: str, width: int) -> str:
    used = 0
    for at, letter in enumerate(text):
        used += get_character_cell_size(letter)
        if used > width:
            return text[:at]
    return text
