"""Signs that stand for states, each with its word: no sign is ever the only one to say something.

All of them are one cell wide (East Asian width Neutral, box drawing, or a circle, which takes two cells only where a
terminal is told to draw ambiguous characters wide: `--ascii` is for those), and no two states differ by a tick.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Glyphs(NamedTuple):
    """One set of signs."""

    queued: str
    unacked: str
    maybe: str  # also in a cell: who perhaps has a message
    acked: str
    refused: str
    missing: str
    lost: str
    system: str  # in the gutter: only lines of the program have it
    alert: str  # in the gutter: a line of the program that wants attention
    chosen: str  # in the gutter: the selected message
    mention: str  # in the gutter: a message to the user
    online: str
    offline: str
    reply: str
    rule: str  # day lines and the like are made of it
    between: str  # stands between two parts of a line
    cut: str  # stands for what did not fit
    full: str  # what a bar is filled with
    empty: str  # and the rest of it
    verified: str  # behind the nick of somebody with whom the user compared words
    known: str  # in a cell: who is known to have a message
    unproven: str  # in a cell: who says so without a signature
    nothing: str  # in a cell: who told nothing of it yet


UNICODE: Final = Glyphs._make("⧗⇡◐✓✗⇣∅»‼›┃▪▫↳─⋅~▰▱≗●◌○")  # noqa: RUF001
ASCII: Final = Glyphs._make(".>?+!<0#!>|*-^-|~#.=+~-")
