"""The log on the screen: draws the lines that are looked at, and has more rows read when their end comes near."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from sdschat.node.view_values import Key
from sdschat.tui.look import Look, day_line, item_lines, unread_line
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import Entry, GapItem, Item, Place
from sdschat.tui.model.words import day_number

_MARGIN: Final = 40  # lines beside the viewport within which there is to be something to show
_FOLLOWED: Final = 400  # rows that are enough to have at hand while the end is looked at


class _Drawn:
    """An item as it was last drawn."""

    __slots__ = ("day", "item", "lead", "strips")

    def __init__(self, item: Item, day: int) -> None:
        self.item = item
        self.day = day
        self.lead = (False, False)  # whether a day line and the unread line stand above it
        self.strips: list[Strip] = []


class LogView(ScrollView, can_focus=True):
    """Draws a `ChannelModel`. What somebody reads never moves under their eyes, except at the end of the log."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "choose(-1)", "Previous message", show=False),
        Binding("down,j", "choose(1)", "Next message", show=False),
        Binding("home,g", "start", "Oldest", show=False),
        Binding("end,G", "end", "Newest", show=False),
        Binding("pageup", "pages(-1)", "Page up", show=False),
        Binding("pagedown,space", "pages(1)", "Page down", show=False),
        Binding("r", "app.reply", "Answer", show=False),
        Binding("y", "app.command('copy')", "Copy", show=False),
        Binding("o", "app.command('open')", "Open the link", show=False),
        Binding("i,enter", "app.command('info')", "Details", show=False),
        Binding("n", "app.command('hit')", "Older hit", show=False),
        Binding("N", "app.command('hit back')", "Newer hit", show=False),
    ]
    DEFAULT_CSS = """
    LogView { height: 1fr; overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """

    @dataclass
    class Chosen(Message):
        """Another message is selected, or none."""

        log: LogView
        message_id: str | None

    @dataclass
    class Followed(Message):
        """The end of the log came into view, or went out of it."""

        log: LogView
        following: bool

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.look = look
        self.model: ChannelModel | None = None
        self.following = True
        self._cache: dict[Place, _Drawn] = {}
        self._starts: list[int] = [0]  # the first line of each row at hand, and the number of all lines
        self._above = 0  # lines of what is not at hand, taken to be one each
        self._first: Key | None = None
        self._rows: list[_Drawn] = []  # the rows at hand, as they were last laid out
        self._version = -1  # of the timeline then
        self._moving = False

    # What is shown.

    def show(self, model: ChannelModel) -> None:
        """Another channel, at its end."""
        self.model = model
        self._cache.clear()
        self._first = None
        self.following = True
        if not model.loaded or not model.timeline.at_end:
            model.open_at_end()
        self.refresh_rows()

    def restyle(self, look: Look) -> None:
        self.look = look
        self._cache.clear()
        self.refresh_rows()

    def refresh_rows(self) -> None:
        """Rows have changed. Lines that are looked at stay where they are."""
        model = self.model
        if model is None or not self.size.width:
            return
        anchor = None if self.following else self._anchor()
        model.refresh_gaps()
        if self.following:
            model.timeline.trim(len(model.timeline), len(model.timeline), _FOLLOWED)
        self._lay_out(model)
        self._settle(anchor)
        self.refresh()

    def _catch_up(self, model: ChannelModel) -> None:
        """Rows that came in and are not laid out yet."""
        if model.timeline.version != self._version:
            self.refresh_rows()

    def tick(self) -> None:
        """A second has passed: countdowns."""
        model = self.model
        if model is not None and any(not gap.lost for gap in model.timeline.gaps.values()):
            model.refresh_gaps(always=True)
            for gap in model.timeline.gaps.values():
                self._cache.pop(gap.place, None)
            self.refresh_rows()

    def _lay_out(self, model: ChannelModel) -> None:
        """The lines of all rows at hand. Only what is new is drawn."""
        timeline, now = model.timeline, model.view.now().wall
        self._version = timeline.version
        cache, starts, total = self._cache, [0], 0
        rows: list[_Drawn] = []
        previous_day, unread_above = -1, model.unread_after
        for item in timeline.items:
            drawn = cache.get(item.place)
            if drawn is None or drawn.item is not item:
                drawn = cache[item.place] = _Drawn(item, day_number(item.at))
            unread = unread_above is not None and isinstance(item, Entry) and item.key > unread_above
            lead = (drawn.day != previous_day and not isinstance(item, GapItem), unread)
            if not drawn.strips or drawn.lead != lead:
                drawn.lead = lead
                drawn.strips = self._draw(item, lead, now)
            if lead[0]:
                previous_day = drawn.day
            if unread:
                unread_above = None
            total += len(drawn.strips)
            starts.append(total)
            rows.append(drawn)
        self._starts, self._rows = starts, rows
        self._measure(model)
        if len(cache) > 2 * len(timeline.items) + 100:
            self._cache = {item.place: cache[item.place] for item in timeline.items}

    def _draw(self, item: Item, lead: tuple[bool, bool], now: int) -> list[Strip]:
        width = self._width
        lines = item_lines(item, width, self.look, now)
        if lead[1]:
            lines.insert(0, unread_line(width, self.look))
        if lead[0]:
            lines.insert(0, day_line(item.at, width, self.look))
        return [Strip(line) for line in lines]

    @property
    def _width(self) -> int:
        return max(20, self.scrollable_content_region.width)

    def _measure(self, model: ChannelModel) -> None:
        """How many lines there are above and below of what is at hand: one for each message, nearly."""
        timeline = model.timeline
        first, last = timeline.first_key(), timeline.last_key()
        if timeline.at_start or first is None:
            self._above = 0
        elif first != self._first:
            self._above = max(1, model.view.rank(model.name, first[1]) - 1)
        self._first = first
        below = 0
        if not timeline.at_end and last is not None:
            below = max(1, model.total - model.view.rank(model.name, last[1]))
        size = Size(self._width, self._above + self._starts[-1] + below)
        if size != self.virtual_size:
            # Not as an attribute: that lays out the whole screen anew, and only the scroll bar is concerned.
            self.set_reactive(LogView.virtual_size, size)
            self._scroll_update(size)

    # Where it stands.

    def _anchor(self) -> tuple[Place, int] | None:
        """The row at the top of the viewport, and which of its lines is there."""
        at, offset = self._row_at(round(self.scroll_y))
        return None if at is None else (self._rows[at].item.place, offset)

    def _settle(self, anchor: tuple[Place, int] | None) -> None:
        model = self.model
        assert model is not None
        if self.following:
            self._move_to(self.max_scroll_y)
        elif anchor is not None:
            at = model.timeline.index_of(anchor[0])
            if at is not None:
                self._move_to(self._above + self._starts[at] + anchor[1])

    def _move_to(self, line: float) -> None:
        self._moving = True
        try:
            self.scroll_to(y=line, animate=False, force=True)
        finally:
            self._moving = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._moving and self.model is not None and round(old_value) != round(new_value):
            self._moved(self.model)

    def _moved(self, model: ChannelModel) -> None:
        """Somebody scrolled."""
        top, height = round(self.scroll_y), self.size.height
        end = self._above + self._starts[-1]
        if top + height < self._above or top > end:
            self._jump_near(model, top)
        elif top < self._above + _MARGIN and not model.timeline.at_start:
            self._follow(False)
            model.read_before()
            self._trimmed(model)
        elif top + height > end - _MARGIN and not model.timeline.at_end:
            model.read_after()
            self._trimmed(model)
        self._follow(model.timeline.at_end and self.scroll_y >= self.max_scroll_y - 0.5)

    def _trimmed(self, model: ChannelModel) -> None:
        """Rows came in on one side: let go of some on the other."""
        anchor = self._anchor()
        at = None if anchor is None else model.timeline.index_of(anchor[0])
        if at is not None:
            model.timeline.trim(at, at + self.size.height)
        model.refresh_gaps()
        self._lay_out(model)
        self._settle(anchor)
        self.refresh()

    def _jump_near(self, model: ChannelModel, line: int) -> None:
        """Far from everything at hand: the scroll bar was dragged."""
        key = model.view.at_rank(model.name, line + 1)
        if key is not None:
            self.jump_to(key, top=True)

    def _follow(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.post_message(self.Followed(self, following))

    def jump_to(self, key: Key, *, top: bool = False, choose: bool = False) -> None:
        """Show the message of this key, or what comes after it."""
        model = self.model
        if model is None:
            return
        place = (*key, 1, "")
        if not model.timeline.covers(place):
            model.open_around(key)
        model.refresh_gaps()
        self._follow(False)
        self._lay_out(model)
        items = model.timeline.items
        at = next((at for at, item in enumerate(items) if item.place >= place), len(items) - 1)
        if at < 0:
            return
        if choose:
            self._choose(items[at].message_id or None)
        self._move_to(self._above + self._starts[at] - (0 if top else self.size.height // 3))
        self._follow(model.timeline.at_end and self.scroll_y >= self.max_scroll_y - 0.5)
        self.refresh()

    def jump_to_end(self) -> None:
        model = self.model
        if model is not None:
            if not model.timeline.at_end:
                model.open_at_end()
            self._follow(True)
            self.refresh_rows()

    # Moving about.

    def action_choose(self, step: int) -> None:
        """Select the next message, or gap, in this direction; the last one on the screen to begin with."""
        model = self.model
        if model is None:
            return
        self._catch_up(model)
        items = model.timeline.items
        at = model.timeline.index_of_message(model.selected) if model.selected else None
        if at is None:
            bottom, _ = self._row_at(min(round(self.scroll_y) + self.size.height, self._above + self._starts[-1]) - 1)
            at = (len(items) - 1 if bottom is None else bottom) + (step < 0)
        at += step
        while 0 <= at < len(items) and not items[at].message_id:
            at += step
        if 0 <= at < len(items):
            self._choose(items[at].message_id)
            self._reveal(at)

    def _reveal(self, at: int) -> None:
        """Scroll as little as needed to see a row."""
        low, high = self._above + self._starts[at], self._above + self._starts[at + 1]
        top, height = round(self.scroll_y), self.size.height
        if low < top:
            self.scroll_to(y=low, animate=False, force=True)
        elif high > top + height:
            self.scroll_to(y=high - height, animate=False, force=True)
        self.refresh()

    def _choose(self, message_id: str | None) -> None:
        assert self.model is not None
        if self.model.selected != message_id:
            self.model.selected = message_id
            self.post_message(self.Chosen(self, message_id))
            self.refresh()

    def unchoose(self) -> None:
        if self.model is not None:
            self._choose(None)

    def action_start(self) -> None:
        model = self.model
        if model is not None:
            first = model.view.at_rank(model.name, 1)
            key = (0, "") if first is None else first
            found = model.view.messages(model.name, after=(0, ""), limit=1)
            self.jump_to(found[0].key if found else key, top=True)

    def action_end(self) -> None:
        self.jump_to_end()

    def action_pages(self, pages: int) -> None:
        self.scroll_to(y=self.scroll_y + pages * max(1, self.size.height - 2), animate=False, force=True)

    # Drawing.

    def _row_at(self, line: int) -> tuple[int | None, int]:
        """Which row, by its number among those at hand, has this line, and which of its lines it is."""
        local = line - self._above
        if not 0 <= local < self._starts[-1]:
            return None, 0
        at = bisect_right(self._starts, local) - 1
        return at, local - self._starts[at]

    def render_line(self, y: int) -> Strip:
        line = round(self.scroll_y) + y
        width = self.size.width
        at, offset = self._row_at(line)
        base = self.rich_style
        if at is None or self.model is None:
            return Strip.blank(width, base)
        drawn = self._rows[at]
        strip, item = drawn.strips[offset], drawn.item
        chosen = bool(item.message_id) and item.message_id == self.model.selected
        if chosen and offset >= sum(drawn.lead):
            mark = Segment(self.look.glyphs.chosen, Style(bold=True))
            strip = Strip([*strip.crop(0, 1), mark, *strip.crop(2)])
            base += self._chosen_style
        strip = strip.crop_extend(0, width, base).apply_style(base)
        return self._with_selection(strip, line).apply_offsets(0, line)

    @property
    def _chosen_style(self) -> Style:
        return self.get_component_rich_style("log--chosen", partial=True)

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log--chosen"}

    def _with_selection(self, strip: Strip, line: int) -> Strip:
        selection = self.text_selection
        span = None if selection is None else selection.get_span(line)
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end < 0 else min(end, strip.cell_length)
        style = self.screen.get_component_rich_style("screen--selection")
        return Strip.join([strip.crop(0, start), strip.crop(start, end).apply_style(style), strip.crop(end)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """What was marked with the mouse, of the rows that are at hand."""
        low = 0 if selection.start is None else selection.start.y
        high = self._above + self._starts[-1] if selection.end is None else selection.end.y + 1
        lines = []
        for line in range(max(low, self._above), min(high, self._above + self._starts[-1])):
            at, offset = self._row_at(line)
            text = "" if at is None else self._rows[at].strips[offset].text
            span = selection.get_span(line)
            if span is not None:
                lines.append(text[span[0] : len(text) if span[1] < 0 else span[1]].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        self._cache.clear()
        self.refresh_rows()

    def on_click(self, event: events.Click) -> None:
        at, _ = self._row_at(round(self.scroll_y) + event.y)
        if at is not None and self.model is not None:
            item = self._rows[at].item
            same = item.message_id == self.model.selected
            self._choose(None if same or not item.message_id else item.message_id)
