"""The Lens on the screen: one panel, one view at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as ContentStyle
from textual.widget import Widget

from sdschat.node.events import NodeEvent
from sdschat.node.view.conversations import Conversations
from sdschat.tui.lens.inspector import LensInspector, view_named, views_of
from sdschat.tui.lens.view_input import Line, names_message
from sdschat.tui.model.words import LEFT_TO_RIGHT, Glyphs
from sdschat.tui.row_lines import isolated
from sdschat.tui.themes import LineStyle

_OFTEN: Final = 0.25  # seconds between two drawings, while events come
_SELDOM: Final = 4  # so many times as long between two drawings, while none come: for countdowns
_NAME: Final = "Lens "  # on the frame, before the names of the views
_BESIDE_TABS: Final = 4  # columns of the frame that the names leave free
DEFAULT: Final = "repair"


def styled(line: Line, line_style: LineStyle) -> Strip:
    """Return a line in the colours of the theme."""
    drawn = [Segment(text, line_style.style(name or "text")) for text, name in line if text]
    return Strip(isolated(drawn, LEFT_TO_RIGHT))


def seen_names(names: Sequence[str], shown: str, width: int) -> tuple[int, int]:
    """Return the first of the names that have room in one row, and the end of them; the one shown is among them.

    Each takes its letters and two spaces; a sign stands at either end where more names are.
    """
    if sum(len(name) + 2 for name in names) <= width:
        return 0, len(names)
    low = names.index(shown) if shown in names else 0
    high = low + 1
    room = width - 2 - sum(len(name) + 2 for name in names[low:high])
    grown = True
    while grown:
        grown = False
        if high < len(names) and len(names[high]) + 2 <= room:
            room -= len(names[high]) + 2
            high, grown = high + 1, True
        if low and len(names[low - 1]) + 2 <= room:
            room -= len(names[low - 1]) + 2
            low, grown = low - 1, True
    return low, high


def tabs(names: Sequence[str], shown: str, width: int, glyphs: Glyphs) -> list[tuple[str, str]]:
    """Return what is drawn of the names in one row, each part with the view that a click on it shows."""
    low, high = seen_names(names, shown, width)
    cells = [(f" {name} ", name) for name in names[low:high]]
    if low:
        cells.insert(0, (glyphs.back, names[low - 1]))
    if high < len(names):
        cells.append((glyphs.further, names[high]))
    return cells


class LensTabs(Widget):
    """The names of the views in the first row, where the panel has no frame; a click shows one."""

    DEFAULT_CSS = "LensTabs { height: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.content = Content("")

    def put(self, content: Content) -> None:
        if not content.is_same(self.content):
            self.content = content
            self.refresh()

    def render(self) -> Content:
        return self.content


class LensBody(ScrollView, can_focus=True):
    """The lines of the view."""

    named_keys: ClassVar = ("Left Right views", "Up Down scroll", "F2 close", "Esc back")  # named on the screen
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", "Previous view", show=False),
        Binding("right,l", "turn(1)", "Next view", show=False),
    ]
    DEFAULT_CSS = "LensBody { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }"

    def __init__(self) -> None:
        super().__init__()
        self._strips: list[Strip] = []

    def put(self, lines: list[Line], line_style: LineStyle) -> None:
        self._strips = [styled(line, line_style) for line in lines]
        self.virtual_size = Size(self.size.width, len(lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        at = y + round(self.scroll_y)
        width = self.size.width
        strip = self._strips[at] if 0 <= at < len(self._strips) else Strip([])
        return strip.crop(0, width).extend_cell_length(width).apply_style(self.rich_style)

    def action_turn(self, by: int) -> None:
        assert isinstance(self.parent, LensPanel)
        self.parent.turn(by)


class LensPanel(Widget):
    """The panel: shows one view of the channel that is shown and the message that is selected."""

    DEFAULT_CSS = "LensPanel { layout: vertical; border: round $secondary; padding: 0 0 0 1; }"

    def __init__(
        self, view: Conversations, style_now: Callable[[], LineStyle], channel: str, selection: str | None, *, id: str
    ) -> None:
        """Make a panel that begins with this channel. `style_now` returns the colours and signs of the moment."""
        super().__init__(id=id)
        self.shown = DEFAULT
        self.argument = ""
        self.channel = channel
        self.selection = selection
        self._view = view
        self._style_now = style_now
        self._inspector: LensInspector | None = None
        self._tabs = LensTabs()
        self._titled = Content("")
        self._body = LensBody()
        self._news = True
        self._ticks = 0

    def compose(self) -> ComposeResult:
        yield self._tabs
        yield self._body

    def on_mount(self) -> None:
        self._open_inspector()
        self.set_interval(_OFTEN, self._tick)
        self.call_after_refresh(self.refresh_view)

    def on_unmount(self) -> None:
        if self._inspector is not None:
            self._inspector.close()

    def _open_inspector(self) -> LensInspector:
        if self._inspector is None:
            self._inspector = LensInspector(self._view.node, self._view)
        return self._inspector

    # Events of the application.

    def hear(self, event: NodeEvent) -> None:
        if self._inspector is not None:
            self._inspector.hear(event)
            self._news = self._news or event.channel == self.channel

    def select(self, message_id: str | None) -> None:
        self.selection = message_id
        self.refresh_view()

    def switch(self, channel: str) -> None:
        self.channel = channel
        self.selection = None
        self.refresh_view()

    def show(self, view: str, argument: str = "") -> None:
        """Show a view. Raises ValueError if there is no view with this name."""
        view_named(view)
        self.shown = view
        self.argument = argument
        if names_message(view, argument):
            self.selection, self.argument = argument, ""
        self._body.scroll_home(animate=False)
        self.refresh_view()

    def turn(self, by: int) -> None:
        """Show the view so many places further in the list."""
        names = views_of(self._view.node, self.channel)
        at = names.index(self.shown) if self.shown in names else 0
        self.show(names[(at + by) % len(names)])

    def page(self, pages: int) -> None:
        self._body.scroll_relative(y=pages * max(1, self._body.size.height - 1), animate=False)

    def take_keys(self) -> None:
        self.screen.set_focus(self._body)

    # Drawing.

    def on_resize(self) -> None:
        self.refresh_view()

    def on_show(self) -> None:
        self.refresh_view()

    def _tick(self) -> None:
        self._ticks += 1
        if self.display and (self._news or self._ticks % _SELDOM == 0):
            self.refresh_view()

    def refresh_view(self) -> None:
        """Draw the view anew."""
        if not self.is_mounted or not self.display or self._inspector is None or not self._body.size.width:
            return
        self._news = False
        line_style = self._style_now()
        self._draw_tabs(line_style.glyphs)
        width = self._body.size.width - 2  # a column is free before the scroll bar
        try:
            lines = self._inspector.lines(
                self.shown, self.channel, self.selection, self.argument, width, line_style.glyphs
            )
        except ValueError as error:
            lines = [((str(error), "note"),)]
        self._body.put(lines, line_style)

    def _draw_tabs(self, glyphs: Glyphs) -> None:
        """Name the views: on the frame, or in the first row where there is no room for one."""
        framed = not self.has_class("-full")
        room = self.size.width - len(_NAME) - _BESIDE_TABS if framed else self.size.width
        named = tabs(views_of(self._view.node, self.channel), self.shown, room, glyphs)
        parts = [Content.styled(text, _tab_style(name, chosen=name == self.shown)) for text, name in named]
        name = f" {_NAME}" if self.has_class("-ruled") else _NAME if framed else ""  # a frame has a space of its own
        content = Content("").join([Content.styled(name, "$foreground 75%"), *parts])
        self._tabs.display = not framed
        self._tabs.put(content)
        if framed and not content.is_same(self._titled):
            self._titled = content
            self.border_title = content


def _tab_style(name: str, *, chosen: bool) -> ContentStyle:
    shows = ContentStyle.from_meta({"@click": f"app.command('lens {name}')"})
    return shows + ContentStyle(bold=True, reverse=True) if chosen else shows
