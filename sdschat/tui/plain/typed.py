"""Typed lines without what keys write into them: a terminal that reads lines passes keys on as escape sequences."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, NamedTuple

ESCAPE: Final = "\x1b"
# Of a key with a name: ESC [ parameters letter, or ESC O letter; a second escape before it is Alt.
_KEY: Final = re.compile(r"\x1b*(?:\x1b\[|\x9b)(?:\[[A-E]|[0-?]*[ -/]*[@-~])|\x1b*\x1bO[ -~]")
_ALT_ALONE: Final = re.compile(r"\s*(?:\x1b+[^\x1b\s]?\s*)+")  # a line of nothing but Esc, or Alt and a letter


class TypedLine(NamedTuple):
    """A line as it was meant. `keys`: there was a key in it, and nothing else. `goes_on`: Alt+Enter ended it."""

    text: str
    keys: bool
    goes_on: bool


def typed_line(line: str) -> TypedLine:
    """Return what was typed. Named keys are dropped whole; other control characters, and a lone escape, alone."""
    written = line.rstrip("\r\n")
    goes_on = written.endswith(ESCAPE)
    bare = _KEY.sub("", written.removesuffix(ESCAPE) if goes_on else written)
    text = "" if _ALT_ALONE.fullmatch(bare) else "".join(filter(_is_text, bare))
    keys = not text.strip() and any(not _is_text(letter) for letter in written)
    return TypedLine(text, keys, goes_on and bool(text.strip()))


def _is_text(letter: str) -> bool:
    return letter == "\t" or unicodedata.category(letter) != "Cc"
