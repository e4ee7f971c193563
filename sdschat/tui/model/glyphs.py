"""Signs that stand for states, each with its word: no sign is ever the only one to say something.

All of them are one cell wide in every terminal (East Asian width Neutral, or box drawing), and no two states differ by
a tick.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Glyphs(NamedTuple):
    """One set of signs."""

    queued: str
    unacked: str
    maybe: str
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


UNICODE: Final = Glyphs._make("⧗⇡◌✓✗⇣∅»‼›┃▪▫↳─⋅~▰▱≗")  # noqa: RUF001
ASCII: Final = Glyphs._make(".>?+!<0#!>|*-^-|~#.=")
