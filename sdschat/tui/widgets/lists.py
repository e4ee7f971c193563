"""The lists beside the log: channels and members. Drawn as literal text, line by line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import Static

from sdschat.node.view.values import Participant
from sdschat.tui.model.delivery import name_of
from sdschat.tui.model.status import STYLES_OF_HEALTH, Health, heard_words
from sdschat.tui.model.words import fitted, fitted_nick, nick_text, whole_parts
from sdschat.tui.themes import LineStyle

_WIDTH: Final = 18  # columns of the list of channels
_THOUSAND: Final = 1000


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """The entry of a channel in the list. Its label, and the tag at the end of it, are safe to draw."""

    name: str
    label: str
    badge: str
    unread: int
    mentions: int
    shown: bool
    tag: str = ""
    health: Health = Health.GOOD


def health_sign(state: Health, line_style: LineStyle) -> tuple[str, str]:
    """Return the sign for the state of a channel, and the name of its style."""
    glyphs = line_style.glyphs
    sign = {Health.GOOD: glyphs.online, Health.WAITS: glyphs.missing, Health.BAD: glyphs.alert}[state]
    return sign, STYLES_OF_HEALTH[state]


def unread_mark(line: ChannelLine) -> str:
    """Return the unread mark: +3 for three new ones, +1k for a thousand or more, 1! for one that is to the user."""
    if line.mentions:
        return f"{_few(line.mentions)}!"
    return f"+{_few(line.unread)}" if line.unread else ""


def _few(number: int) -> str:
    return str(number) if number < _THOUSAND else f"{min(number // _THOUSAND, 99)}k"


class ChannelList(Static):
    """The list of channels: number, name and unread mark, and below them the badge. Where not all have room for two
    lines, its sign stands before the mark; where not all have room, the others are counted, with their unread mark."""

    DEFAULT_CSS = "ChannelList { width: 20; height: 1fr; background: $surface; padding: 0 1; }"

    @dataclass
    class Picked(Message):
        number: int

    def __init__(self, *, id: str) -> None:
        super().__init__("", id=id, markup=False)
        self.lines: list[ChannelLine] = []
        self._style: LineStyle | None = None  # that they were drawn with
        self._first = 0  # the index of the first one that is seen
        self._seen = 0  # how many are
        self._each = 2  # lines of each

    def set_lines(self, lines: list[ChannelLine], line_style: LineStyle) -> None:
        if lines == self.lines and line_style == self._style:
            return
        self.lines, self._style = lines, line_style
        self.on_resize()

    def on_resize(self) -> None:
        """Draw as many as there is room for."""
        lines, room = self.lines, self.size.height
        if self._style is None or not room:
            return
        self._each = 2 if 2 * len(lines) <= room else 1
        self._seen = len(lines) if len(lines) * self._each <= room else max(1, room - 1)
        shown = next((at for at, line in enumerate(lines) if line.shown), 0)
        self._first = max(0, min(shown, len(lines) - 1) - self._seen + 1)
        end = self._first + self._seen
        text = Text(no_wrap=True, overflow="crop")
        for number, line in enumerate(lines[self._first : end], self._first + 1):
            self._add(text, number, line, self._style)
        rest = [*lines[: self._first], *lines[end:]]
        if rest:
            unread, mentions = sum(line.unread for line in rest), sum(line.mentions for line in rest)
            self._add(text, 0, ChannelLine("", f"and {len(rest)} more", "", unread, mentions, shown=False), self._style)
        self.update(text, layout=False)

    def _add(self, text: Text, number: int, line: ChannelLine, line_style: LineStyle) -> None:
        """Add the lines of a channel; with no number, those that have no room, without a badge."""
        mark, (sign, style) = unread_mark(line), health_sign(line.health, line_style)
        good, before = line.health is Health.GOOD, f"{number} " if number else ""
        name = f"{before}{line.label}".removesuffix(f" {line.tag}")
        alert = "" if good or self._each > 1 else f" {sign}"
        room = _WIDTH - len(alert) - bool(mark) - len(mark)
        drawn = "bold reverse" if line.shown else "bold" if mark else ""
        text.append(fitted_nick(name, line.tag, room, line_style.glyphs.cut), drawn if number else "dim")
        text.append(alert, line_style.style(style))
        text.append(f" {mark}\n" if mark else "\n", line_style.style("mention" if line.mentions else "new"))
        if number and self._each > 1:
            badge = fitted(whole_parts(line.badge, 16), 16, line_style.glyphs.cut)
            sign, style = (" ", "time") if good else (sign, style)
            text.append(f"{sign} ", line_style.style(style)).append(f"{badge}\n", line_style.style(style))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset_capture(self).y // self._each
        if 0 <= at < self._seen and self._first + at < len(self.lines):
            self.post_message(self.Picked(self._first + at))


class MemberList(Static):
    """The list of participants: those here, and when the others were last heard."""

    DEFAULT_CSS = "MemberList { width: 22; height: 1fr; background: $surface; padding: 0 1; }"

    @dataclass
    class Picked(Message):
        sender_id: str  # empty: a line that is nobody's, such as the number of those for whom there is no room

    def __init__(self, *, id: str) -> None:
        super().__init__("", id=id, markup=False)
        self._drawn = Text()
        self._lines: list[str] = []  # whose each one is
        self._again: Callable[[], None] | None = None

    def set_people(self, people: list[Participant], line_style: LineStyle, now: int, connected: bool) -> None:
        """Draw the list. Without a connection nobody is shown as here."""
        self._again = functools.partial(self._draw_people, people, line_style, now, connected)
        self._again()

    def on_resize(self) -> None:
        if self._again is not None:
            self._again()  # the size says how many there is room for

    def _draw_people(self, people: list[Participant], line_style: LineStyle, now: int, connected: bool) -> None:
        if not connected:
            people = [person._replace(online=False) for person in people]
        here = sum(person.online for person in people)
        text, lines = Text(no_wrap=True, overflow="crop"), list[str]()
        title = f"{here} here" if connected else "not connected"
        framed = self.has_class("-framed")
        self.border_title = title if framed else None
        if not framed:
            text.append(f"{title}\n", "bold")
            lines.append("")
        if not self.size.height:
            return  # it is drawn again once there is room for it
        room = self.size.height - len(lines)
        away = next((at for at, person in enumerate(people) if not person.online), len(people))
        if len(people) + (connected and away < len(people)) > room:
            room -= 1  # for how many more there are
            room = max(1, room - (connected and away < room))  # and for the heading of those who are not here
        for at, person in enumerate(people[:room]):
            if connected and at == away:
                text.append("not here\n", line_style.style("time"))
                lines.append("")
            lines.append(person.sender_id)
            sign = line_style.glyphs.online if person.online else line_style.glyphs.offline
            name = nick_text(person.nick) or name_of(person)
            verified = line_style.glyphs.verified if person.verified else ""
            heard = heard_words(person, now, beside=True)
            text.append(f"{sign} ", line_style.style("acked" if person.online else "time"))
            left = 17 - len(heard)
            name = fitted_nick(name, person.tag, left - cell_len(verified), line_style.glyphs.cut).rstrip() + verified
            text.append(fitted(name, left, line_style.glyphs.cut), line_style.nick_style(person.sender_id))
            text.append(f" {heard}\n", line_style.style("time"))
        if len(people) > room:
            text.append(f"and {len(people) - room} more: /who", line_style.style("time"))
        self._lines = lines
        if text != self._drawn:  # called every second; mostly nothing has changed
            self._drawn = text
            self.update(text, layout=False)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset_capture(self).y
        self.post_message(self.Picked(self._lines[at] if 0 <= at < len(self._lines) else ""))
