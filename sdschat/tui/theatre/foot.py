"""The keys of the theatre: those that the last line has room for, and the page of help."""

from __future__ import annotations

from typing import Final

from sdschat.tui.model.words import UNICODE, Glyphs

_KEYS: Final = (
    "1-6 cut",
    "s split",
    "m mend",
    "l loss",
    "k kill",
    "space pause",
    "→ step",
    "Enter write",
    "? help",
    "q quit",
)
_WHILE_WRITING: Final = ("Enter sends", "Esc back to the keys", "Ctrl+C quits")
_DISPENSABLE: Final = ("→ step", "l loss", "s split")  # where there is no room for all; help has them
_HELP: Final = """\
Four participants, each a real node with its own database.
Behind each name stands the fingerprint of its log.

  1 ann-bob     2 ann-carol   3 bob-dave   cut, or mend,
  4 carol-dave  5 ann-dave    6 bob-carol  the link
  s             cuts all links between left and right
  m             mends all links, and ends the loss
  l             loses packets on all links, or no more
  Tab, k        chooses one of them; kills and restarts it
  space, →      pauses the script, as faults do; next act
  Enter         writes for ann; Esc goes back to the keys
  q             quits
Cells, one for each other: ● known to have it, ◐ perhaps,
○ nothing yet; ✓ all of them. They follow equal logs once
packets tell the author. Any key closes this page."""


def keys_in(room: int, glyphs: Glyphs, *, writing: bool) -> tuple[list[str], str]:
    """Return the keys that there is room for, and what stands between them."""
    keys, between = _fitting(room, writing=writing)
    return [_plain(key, glyphs) for key in keys], _plain(between, glyphs)


def _fitting(room: int, *, writing: bool) -> tuple[list[str], str]:
    keys = [*(_WHILE_WRITING if writing else _KEYS)]
    for between in (" · ", "  "):
        if len(between.join(keys)) <= room:
            return keys, between
    for one in _DISPENSABLE:
        keys.remove(one)
        if len("  ".join(keys)) <= room:
            break
    return keys, "  "


def help_in(glyphs: Glyphs) -> str:
    """Return the page of help with the signs that are drawn here."""
    text = _HELP
    for name in ("known", "maybe", "nothing", "acked"):
        text = text.replace(getattr(UNICODE, name), getattr(glyphs, name))
    return _plain(text, glyphs)


def _plain(text: str, glyphs: Glyphs) -> str:
    if glyphs is UNICODE:
        return text
    return text.replace(" · ", " | ").replace("→    ", "right").replace("→", "right")
