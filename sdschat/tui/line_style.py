"""The colours, signs and options that lines of a terminal are drawn with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from rich.segment import Segment
from rich.style import Style

from sdschat.tui.model.words import UNICODE, Glyphs
from sdschat.tui.themes import DARK, Palette

Line = list[Segment]

_NOTHING: Final = Style()
_HUES, _APART = 12, 5  # colours of nicks, and the step from a taken one to the next, which is not beside it


@dataclass(frozen=True, slots=True)
class LineStyle:
    """The colours, signs and options that lines are drawn with."""

    palette: Palette = DARK
    glyphs: Glyphs = UNICODE
    ids: bool = True  # show the first letters of ids
    links: bool = True  # as links of the terminal
    marked: re.Pattern[str] | None = None  # what a search marks in texts
    hues: dict[str, int] = field(default_factory=dict, compare=False)  # the place of each participant's colour

    def style(self, name: str) -> Style:
        return self.palette.styles.get(name, _NOTHING)

    def nick_style(self, sender_id: str) -> Style:
        """Return the style of a nick: the same for a participant in every channel, and another for each of the first
        participants, as many as there are colours."""
        nicks = self.palette.nicks
        wanted = crc32(sender_id.encode(errors="replace")) % _HUES
        if sender_id not in self.hues and len(self.hues) < _HUES:
            taken = set(self.hues.values())
            self.hues[sender_id] = next(
                hue for step in range(_HUES) if (hue := (wanted + step * _APART) % _HUES) not in taken
            )
        return nicks[self.hues.get(sender_id, wanted) % len(nicks)]
