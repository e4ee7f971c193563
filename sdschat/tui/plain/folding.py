"""Long lines broken at words, to the width of a terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final, TextIO

from rich.cells import cell_len

from sdschat.tui.model.words import wrapped

INDENT: Final = "    "  # before what goes on: it is like no line of the program, and like no message
_LEAST: Final = 20  # columns below which nothing is broken here
_WORD: Final = re.compile(r"\s*\S+")


def width_of(out: TextIO) -> int | None:
    """Return the columns of the terminal that this is; None for anything else."""
    try:
        columns = os.get_terminal_size(out.fileno()).columns
    except (OSError, ValueError):  # a pipe, a file or a text in memory
        return None
    return columns if columns >= _LEAST else None


def folded(text: str, width: int | None) -> str:
    """Return lines that are no wider than this. A longer word is left to the terminal if it cannot look like a line of
    the program: the parts of a link would open nothing."""
    if width is None:
        return text
    found = []
    for line in text.split("\n"):
        lead = INDENT if line.startswith(INDENT) else ""
        body = line[len(lead) :]
        pieces = [line] if cell_len(line) <= width else [*_pieces(body, width - len(lead), width - len(INDENT))]
        found += pieces[:1] if pieces[:1] == [line] else [lead + pieces[0], *(INDENT + piece for piece in pieces[1:])]
    return "\n".join(found)


def _pieces(text: str, first: int, room: int) -> Iterator[str]:
    """Yield the pieces of a line: of the width `first` the first one, of `room` the others."""
    piece, width = "", first
    for word in _WORD.findall(text) or [""]:
        if piece and cell_len(piece) + cell_len(word) > width:
            yield piece
            piece, width, word = "", room, word.lstrip()
        if cell_len(word) > width and not word.isascii():
            *whole, word = (word[low:high] for low, high in wrapped(word, min(first, room)))
            yield from whole
            width = room
        piece += word
    yield piece
