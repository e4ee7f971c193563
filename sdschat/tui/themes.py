"""The palettes of the themes, and the colours, signs and options that lines of a terminal are drawn with.

No colour carries a meaning alone: every state also has a sign and a word.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple
from zlib import crc32

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.scrollbar import ScrollBarRender
from textual.theme import Theme

from sdschat.tui.model.words import UNICODE, Glyphs

Colour = tuple[int, int, int]  # red, green, blue, each up to 255

READABLE: Final = 4.5  # the least contrast of a text with its background
_HUES: Final = 12  # colours of nicks


class Palette(NamedTuple):
    """The colours of one theme: of the widgets, of the lines of a log, and of nicks."""

    theme: Theme
    styles: Mapping[str, Style]
    nicks: tuple[Style, ...]


def _styles(**colours: str) -> Mapping[str, Style]:
    return {name: Style.parse(colour) for name, colour in colours.items()}


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast of two colours, from 1 to 21, as the guidelines for the web (WCAG 2) define it."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _hues(lightness: float, chroma: float, background: Colour) -> tuple[Style, ...]:
    """Return colours evenly around the colour circle. Each is as light as `lightness`, or as far from that as it takes
    to be read on the background: at one lightness green and yellow are brighter than blue."""
    from colorsys import hls_to_rgb

    found = []
    for step in range(_HUES):
        light = lightness
        while True:
            red, green, blue = (round(255 * part) for part in hls_to_rgb(step / _HUES, light, chroma))
            if contrast((red, green, blue), background) >= READABLE:
                break
            light += 0.01 if lightness > 0.5 else -0.01
        found.append(Style.parse(f"rgb({red},{green},{blue})"))
    return tuple(found)


def hues_on(background: Colour) -> tuple[Style, ...]:
    """Return the colours of nicks for a background."""
    return _hues(0.34, 0.75, background) if is_light(background) else _hues(0.72, 0.62, background)


def is_light(colour: Colour) -> bool:
    """True if black is read better on this colour than white."""
    return contrast(colour, (0, 0, 0)) > contrast(colour, (255, 255, 255))


_CHOSEN: Final = "block-cursor-blurred-background"  # what is chosen in the palette looks as it does in a sheet
DARK: Final = Palette(
    Theme(
        "chat-dark", primary="#7aa2f7", secondary="#636d9c", accent="#bb9af7", foreground="#d5d9e4",
        background="#14161b", surface="#1a1d24", panel="#22262f", success="#9ece6a", warning="#e0af68",
        error="#f7768e", dark=True, variables={_CHOSEN: "#27304a"},
    ),
    _styles(
        text="#d5d9e4", time="#979fb6", id="#979fb6", note="#9aa3b8", alert="bold #f7768e", help="#c0c7d8",
        gap="#d0a5f0", lost="#f7768e", day="#828aa1", new="bold #e0af68", quote="italic #979fb6",
        link="underline #7dcfff",
        mention="bold #ffd479", queued="#9aa3b8", unacked="#e0af68", maybe="#7dcfff", acked="#9ece6a",
        refused="bold #f7768e", remark="#e0af68", late="#bb9af7", action="italic", chosen="on #27304a",
        heading="bold #d5d9e4", key="#bb9af7",
    ),
    hues_on((0x27, 0x30, 0x4A)),
)  # fmt: skip
LIGHT: Final = Palette(
    Theme(
        "chat-light", primary="#2e5cb8", secondary="#7f8598", accent="#7847bd", foreground="#20242e",
        background="#fbfbfa", surface="#f1f2f4", panel="#e3e5ea", success="#2f6b1d", warning="#8a5a00",
        error="#b3261e", dark=False, variables={_CHOSEN: "#dbe4fa"},
    ),
    _styles(
        text="#20242e", time="#5c6273", id="#5c6273", note="#555b6b", alert="bold #b3261e", help="#343946",
        gap="#7847bd", lost="#b3261e", day="#666c7d", new="bold #8a5a00", quote="italic #5c6273",
        link="underline #1f5fa8",
        mention="bold #8a3d00", queued="#555b6b", unacked="#8a5a00", maybe="#1f5fa8", acked="#2f6b1d",
        refused="bold #b3261e", remark="#8a5a00", late="#7847bd", action="italic", chosen="on #dbe4fa",
        heading="bold #20242e", key="#7847bd",
    ),
    hues_on((0xDB, 0xE4, 0xFA)),
)  # fmt: skip
CONTRAST: Final = Palette(
    Theme(
        "chat-contrast", primary="#ffff00", secondary="#ffffff", accent="#00ffff", foreground="#ffffff",
        background="#000000", surface="#000000", panel="#1c1c1c", success="#00ff00", warning="#ffff00",
        error="#ff6060", dark=True, variables={_CHOSEN: "#444444"},
    ),
    _styles(
        text="#ffffff", time="#ffffff", id="#d0d0d0", note="#ffffff", alert="bold reverse #ff6060", help="#ffffff",
        gap="bold #ff80ff", lost="bold #ff6060", day="#ffffff", new="bold #ffff00", quote="italic #e0e0e0",
        link="underline #00ffff", mention="bold #ffff00", queued="#ffffff", unacked="bold #ffff00",
        maybe="bold #00ffff", acked="bold #00ff00", refused="bold reverse #ff6060", remark="bold #ffff00",
        late="bold #ff80ff", action="italic", chosen="on #444444", heading="bold #ffffff", key="bold #00ffff",
    ),
    tuple(Style(bold=True) + hue for hue in hues_on((0x44, 0x44, 0x44))),
)  # fmt: skip
_COLOURLESS: Final = {
    **dict.fromkeys(
        (
            "ansi-background", "ansi-foreground", "border", "border-blurred", "block-cursor-foreground",
            "block-cursor-background", "block-hover-background", "input-cursor-background", "input-cursor-foreground",
            "input-selection-background", "input-selection-foreground", "screen-selection-background",
            "screen-selection-foreground", "scrollbar", "scrollbar-hover", "scrollbar-active", "scrollbar-background",
            "scrollbar-background-hover", "scrollbar-background-active", "scrollbar-corner-color",
        ),
        "ansi_default",
    ),
    "input-cursor-text-style": "reverse",
    "block-cursor-text-style": "reverse",
}  # fmt: skip
PLAIN: Final = Palette(
    # The terminal's own colours: this theme names none.
    Theme(
        "chat-plain", primary="ansi_default", secondary="ansi_default", accent="ansi_default",
        foreground="ansi_default", background="ansi_default", surface="ansi_default", panel="ansi_default",
        success="ansi_default", warning="ansi_default", error="ansi_default", boost="ansi_default", dark=True,
        ansi=True, variables=_COLOURLESS,
    ),
    _styles(
        text="none", time="dim", id="dim", note="dim", alert="bold reverse", help="none", gap="bold", lost="bold",
        day="dim", new="bold", quote="italic", link="underline", mention="bold", queued="dim", unacked="none",
        maybe="none", acked="none", refused="bold reverse", remark="bold", late="bold", action="italic",
        chosen="reverse", heading="bold underline", key="bold",
    ),
    (Style.parse("bold"),),
)  # fmt: skip
PALETTES: Final[Mapping[str, Palette]] = {"dark": DARK, "light": LIGHT, "contrast": CONTRAST, "plain": PLAIN}
AUTO: Final = "auto"  # light or dark, as the background of the terminal is
_LIGHT_BACKGROUNDS: Final = frozenset({"7", "15"})  # white and bright white, among the sixteen colours


def theme_in_force(name: str, on_light: bool | None = None) -> str:
    """Return the theme that a name stands for. `on_light`: what the terminal answered, if it did. Many terminals name
    their background in COLORFGBG too, as in 0;15; without either it is taken for dark."""
    if name != AUTO:
        return name
    if on_light is None:
        on_light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_BACKGROUNDS
    return "light" if on_light else "dark"


_KEYS: Final = re.compile(
    r"(?:(?:(?:Alt|Ctrl|Shift)\+)?(?:Enter|Esc|Tab|Left|Right|Up|Down|PgUp|PgDn|F\d+,?|[A-Za-z]|/)(?: |$)"
    r"|(?:1-6|space|right|→|\?) )+"
)


def keys_marked(parts: Iterable[str], between: str, *, coloured: bool) -> Content:
    """Return keys with what they do, as in Esc closes, in one line: the keys in the accent; bold without colours."""
    drawn = []
    for part in parts:
        found = _KEYS.match(part)
        end = 0 if found is None else found.end()
        drawn.append(Content.assemble((part[:end], "$accent" if coloured else "bold"), part[end:]))
    return Content(between).join(drawn)


Line = list[Segment]

_NOTHING: Final = Style()
_OF_NICK: Final = "nick:"
_APART: Final = 5  # colours from a taken one to the next, which is not beside it
_GAPS: Final = (3, 2, 1)  # colours from one participant to the next, as long as there is room


def _between(hue: int, other: int) -> int:
    """Return the number of colours from one to another, around the circle."""
    steps = abs(hue - other)
    return min(steps, _HUES - steps)


class WholeCells(ScrollBarRender):
    """A scroll bar whose ends are ends of cells, drawn with spaces only."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]


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
        """Return the style with this name; `nick:ID` is that of the nick of a participant."""
        if name.startswith(_OF_NICK):
            return self.nick_style(name[len(_OF_NICK) :])
        return self.palette.styles.get(name, _NOTHING)

    def nick_style(self, sender_id: str) -> Style:
        """Return the style of a nick: the same for a participant in every channel, and another for each of the first
        participants, as many as there are colours. The first few are far from one another."""
        nicks = self.palette.nicks
        wanted = crc32(sender_id.encode(errors="replace")) % _HUES
        if sender_id not in self.hues and len(self.hues) < _HUES:
            places = [(wanted + step * _APART) % _HUES for step in range(_HUES)]
            self.hues[sender_id] = next(
                hue
                for gap in _GAPS
                for hue in places
                if all(_between(hue, other) >= gap for other in self.hues.values())
            )
        return nicks[self.hues.get(sender_id, wanted) % len(nicks)]

    def keep_apart(self, present: Iterable[str]) -> bool:
        """Give each of these participants a colour of its own, as long as there are colours: the first ones in place of
        somebody who is not among them. Return True if the colour of somebody changed."""
        wanted = [*dict.fromkeys(present)][:_HUES]
        changed = False
        for one in wanted:
            self.nick_style(one)  # takes a colour, if there is one left
            if one not in self.hues:
                gone = next(holder for holder in self.hues if holder not in wanted)
                self.hues[one] = self.hues.pop(gone)
                changed = True
        return changed
