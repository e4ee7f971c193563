"""The pane of one participant: the end of its log in few columns, and an input for the one who is played."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.strip import Strip
from textual.style import Style as TextualStyle
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Input, Static

from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import GapItem, Item, MessageItem, NoteItem, Tone
from sdschat.tui.model.words import countdown, fitted, wrapped
from sdschat.tui.row_lines import tick
from sdschat.tui.themes import Line, LineStyle

_NICK: Final = 6
_LEAST: Final = 8  # columns for a text
_KEPT: Final = 60  # rows in memory
_WAITING: Final = "Enter: write"


def row_lines(item: Item, width: int, line_style: LineStyle, now: int, present: tuple[str, ...] = ()) -> list[Line]:
    """Return a row as lines: nick, text, and the state of an own message at the right end."""
    if isinstance(item, GapItem):
        left = "" if item.lost else f", {countdown(getattr(item.what, 'due', now) - now)}"
        text = (
            f"{line_style.glyphs.missing} 1 of {item.author or 'somebody'} {'lost' if item.lost else 'missing'}{left}"
        )
        return [[Segment(fitted(text, width, line_style.glyphs.cut), line_style.style("lost" if item.lost else "gap"))]]
    if not isinstance(item, MessageItem):
        return []
    mark = [] if item.fate is None else [Segment(" "), *tick(item.fate, present, line_style)]
    room = max(_LEAST, width - _NICK)
    head = Segment(fitted(item.nick or "?", _NICK, line_style.glyphs.cut), line_style.nick_style(item.sender_id))
    lines: list[Line] = []
    for low, high in wrapped(item.text, room):
        lines.append([head, Segment(item.text[low:high], line_style.style("text"))])
        head = Segment(" " * _NICK)
    used = sum(segment.cell_length for segment in lines[-1])
    if used + _cells(mark) > width and len(mark) > 2:
        mark = mark[-1:]  # of the tick, its number
    size = _cells(mark)
    if used + size > width:
        lines.append([])
        used = 0
    lines[-1] += [Segment(" " * max(0, width - used - size)), *mark]
    return lines


def _cells(line: Line) -> int:
    return sum(segment.cell_length for segment in line)


def note_lines(note: NoteItem, width: int, line_style: LineStyle) -> list[Line]:
    """Return a line of the program as lines."""
    alert = note.tone is Tone.ALERT
    style = line_style.style("alert" if alert else "note")
    sign = line_style.glyphs.alert if alert else line_style.glyphs.system
    lines: list[Line] = []
    for low, high in wrapped(note.text, max(_LEAST, width - 2)):
        lines.append([Segment(f"{sign} ", style), Segment(note.text[low:high], style)])
        sign = " "
    return lines


class LogEnd(Widget):
    """The last lines of a log. The cost of drawing it does not grow with the log."""

    DEFAULT_CSS = "LogEnd { height: 1fr; }"

    def __init__(self, line_style: LineStyle, *, notes: bool) -> None:
        """`notes`: show lines of the program, too."""
        super().__init__()
        self.notes = notes
        self.line_style = line_style
        self.model: ChannelModel | None = None
        self._lines: list[Line] = []
        self._strips: list[Strip] = []

    def draw(self, model: ChannelModel) -> None:
        """Draw the newest rows, as many as there is room for: whole ones, and of the newest at least its beginning."""
        self.model = model
        model.refresh_gaps(always=True)
        height, width, now = self.size.height, self.size.width, model.view.now().wall
        model.timeline.trim(len(model.timeline), len(model.timeline), _KEPT)
        found: list[Line] = []
        for item in reversed(model.timeline.items):
            if len(found) >= height:
                break
            if isinstance(item, NoteItem):
                if not self.notes or item.tone is Tone.HELP:  # nobody types here
                    continue
                lines = note_lines(item, width, self.line_style)
            else:
                lines = row_lines(item, width, self.line_style, now, model.present)
            if found and len(found) + len(lines) > height:
                break  # the end alone of a row says nothing
            found[:0] = lines
        if (lines := found[:height]) != self._lines:  # else nothing is drawn anew
            self._lines = lines
            self._strips = [Strip(line) for line in lines]
            self.refresh()

    def render_line(self, y: int) -> Strip:
        strip = self._strips[y] if y < len(self._strips) else Strip.blank(0)
        return strip.crop_extend(0, self.size.width, self.rich_style).apply_style(self.rich_style)


class Steady(Static):
    """A text that is drawn anew when it is another one."""

    _drawn: object = None

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        drawn = (content.plain, content.style, content.spans) if isinstance(content, Text) else content
        if drawn != self._drawn:
            self._drawn = drawn
            super().update(content, layout=layout)


class PlayedInput(Input):
    """The line of the participant who is played. Enter sends at once: Esc that comes with it acts after that."""

    def __init__(self, nick: str) -> None:
        super().__init__(placeholder=_WAITING, compact=True, disabled=True, select_on_focus=False)
        self._nick = nick

    def write(self) -> None:
        """Take letters as text, and say so."""
        self.disabled, self.placeholder = False, f"write as {self._nick}"

    def wait(self) -> None:
        """Leave the letters to the keys of the screen."""
        self.disabled, self.placeholder = True, _WAITING

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            await self.action_submit()


class Pane(Vertical):
    """A participant: its name and the fingerprint of its log stand on the border."""

    def __init__(self, nick: str, line_style: LineStyle, *, plays: bool = False, notes: bool = False) -> None:
        super().__init__(id=nick, classes="pane")
        self.nick = nick
        self.log_end = LogEnd(line_style, notes=notes)
        self.entry = PlayedInput(nick) if plays else None
        self._title: tuple[object, ...] = ()  # as it is drawn

    def compose(self) -> ComposeResult:
        yield self.log_end
        if self.entry is not None:
            yield self.entry

    def entitle(self, sign: str, fingerprint: str, remarks: list[str], style: Style, *, flash: bool) -> None:
        """Write the title: name, sign and fingerprint, in a colour that equal logs share, and as many remarks below as
        there is room for."""
        title = (sign, fingerprint, remarks, style, flash, self.size.width)
        if title == self._title:
            return
        self._title = title
        drawn = TextualStyle.from_rich_style(style + Style(bold=True, reverse=flash))
        self.border_title = Content.assemble(f"{self.nick} ", (f"{sign} {fingerprint}", drawn))
        between = f" {self.log_end.line_style.glyphs.between} "
        whole = between.join(remarks)
        self.border_subtitle = Content(whole if len(whole) <= self.size.width else (*remarks, "")[0])
