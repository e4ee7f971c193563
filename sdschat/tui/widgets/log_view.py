"""The log on the screen: scrolling, selection, and reading more rows when the end of those in memory is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from sdschat.node.view.values import Key
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.from_events import invites_in, links_in
from sdschat.tui.model.items import Item, MessageItem, Place
from sdschat.tui.model.status import first_sentence
from sdschat.tui.themes import LineStyle
from sdschat.tui.widgets.log_lines import LogLines

_MARGIN: Final = 40  # lines above and below the viewport that are kept in memory
_FOLLOWED: Final = 400  # rows in memory while the end of the log is visible


class LogView(LogLines, can_focus=True):
    """Shows a `ChannelModel`. Visible lines never move unless the user is at the end of the log."""

    FOCUS_ON_CLICK: ClassVar[bool] = False  # who clicks on a message and types writes a message
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
        Binding("t", "app.command('thread')", "The chain of answers", show=False),
        Binding("p", "app.command('original')", "The message that this one answers", show=False),
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
    class Jumped(Message):
        """A message was looked for and found: it is to be seen."""

        log: LogView

    @dataclass
    class Followed(Message):
        """The log was scrolled, or its end came into view or went out of it."""

        log: LogView

    def __init__(self, line_style: LineStyle, *, id: str | None = None) -> None:
        super().__init__(line_style, id=id)
        self.following = True
        self._moving = False
        self._height = 0  # lines of the viewport
        self._may_leave: str | None = None  # the selected message, if it may go out of sight
        self._pointed: Item | None = None  # the row below the mouse

    def takes(self, key: str) -> bool:
        """True for a key that does something now: those of a message and of hits need one."""
        hits, chosen = ((), None) if self.model is None else (self.model.hits, self.model.selected)
        needed = hits if key in {*"nN"} else chosen if key in {*"ryoitp"} else True
        return bool(needed) and key in self._bindings.key_to_bindings

    @property
    def named_keys(self) -> tuple[str, ...]:
        """Return the keys that the screen names: those that do something now."""
        hits = ("n N hits",) if self.takes("n") else ()
        if self.model is None or not self.takes("r"):
            return ("Up Down select", *hits, "PgUp PgDn scroll", "Esc back")
        entry = self.model.timeline.entries.get(self.model.selected or "")
        original = ("p original",) if entry is not None and entry.reply_to else ()
        text = "" if entry is None or self.model.view.guest else entry.text
        link = ("o join",) if invites_in(text) else ("o open link",) if links_in(text) else ()
        return ("r answer", "i details", *hits, *original, "t thread", *link, "y copy", "Esc back")

    def see(self) -> None:
        """Count as read what is on the screen, as it is drawn now."""
        model, layout = self.model, self._layout_of_rows
        if model is not None and self.size.height and model.timeline.version == layout.version:
            model.see(layout.ids_between(top := round(self.scroll_y), top + self.size.height))

    # Rows.

    def show(self, model: ChannelModel) -> None:
        """Show a channel at its end."""
        self.model = model
        self._layout_of_rows.clear()
        self.following = True
        if not model.loaded or not model.timeline.at_end:
            model.open_at_end()
        self.refresh_rows()

    def restyle(self, line_style: LineStyle) -> None:
        """Draw with other colours and signs."""
        self.line_style = line_style
        self._layout_of_rows.clear()
        self.refresh_rows()

    def refresh_rows(self) -> None:
        """Draw changed rows. Visible lines stay where they are; at the end of the log, the selected message stays in
        sight: then the end is not followed any more."""
        model = self.model
        if model is None or not self.size.width:
            return
        anchor = None if self.following else self._anchor()
        held = model.selected if self.following and self._sees_chosen(model) else None
        model.refresh_gaps()
        if self.following:
            model.timeline.trim(len(model.timeline), len(model.timeline), _FOLLOWED)
        self._lay_out(model)
        self._settle(model, anchor)
        at = None if held is None else model.timeline.index_of_message(held)
        if at is not None and (line := self._layout_of_rows.first_line(at)) < round(self.scroll_y):
            self._follow(False)
            self._move_to(line)
        self.refresh()

    def _sees_chosen(self, model: ChannelModel) -> bool:
        """True if the first line of the selected message is on the screen, and has to stay there."""
        rows, chosen = self._layout_of_rows.rows, model.selected
        at = next((at for at, row in enumerate(rows) if row.item.message_id == chosen), None) if chosen else None
        if at is None or chosen == self._may_leave:
            return False
        return 0 <= self._layout_of_rows.first_line(at) - round(self.scroll_y) < self.size.height

    def tick(self) -> None:
        """Draw the countdowns of gaps again, once a second."""
        model = self.model
        if model is not None and any(not gap.lost for gap in model.timeline.gaps.values()):
            model.refresh_gaps(always=True)
            for gap in model.timeline.gaps.values():
                self._layout_of_rows.forget(gap.place)
            self.refresh_rows()

    def _lay_out(self, model: ChannelModel) -> None:
        layout = self._layout_of_rows
        width = self._drawn_width()
        layout.make(model, width, self.line_style)
        size = Size(width, layout.height)
        if size != self.virtual_size:
            # Setting the attribute would lay out the whole screen again; only the scroll bar has changed.
            self.set_reactive(LogView.virtual_size, size)
            self._moving = True  # up, where there are fewer lines now: who lays out says where it scrolls to
            self._scroll_update(size)
            self._moving = False

    # Scrolling.

    def _anchor(self) -> tuple[Place, int] | None:
        """Return the place of the row at the top of the viewport, and the index of its topmost visible line."""
        at, offset = self._layout_of_rows.row_at(round(self.scroll_y))
        return None if at is None else (self._layout_of_rows.rows[at].item.place, offset)

    def _settle(self, model: ChannelModel, anchor: tuple[Place, int] | None) -> None:
        if self.following:
            self._move_to(self.max_scroll_y)
        elif anchor is not None and (at := model.timeline.index_of(anchor[0])) is not None:
            self._move_to(self._layout_of_rows.first_line(at) + anchor[1])

    def _move_to(self, line: float) -> None:
        """Scroll to a line, so that it does not count as scrolling by the user."""
        self._moving = True
        self.scroll_to(y=line, animate=False, force=True)
        self._moving = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._moving and self.model is not None and round(old_value) != round(new_value):
            self._scrolled(self.model)
            self.post_message(self.Followed(self))

    def _scrolled(self, model: ChannelModel) -> None:
        """Read more rows if the user scrolled near the end of those in memory."""
        layout, timeline = self._layout_of_rows, model.timeline
        top, height = round(self.scroll_y), self.size.height
        if top + height < layout.above or top > layout.end:
            key = model.conversation.at_rank(top + 1)  # the scroll bar was dragged
            if key is not None:
                self.jump_to(key, top=True)
        elif top < layout.above + _MARGIN and not timeline.at_start:
            self._follow(False)
            model.read_before()
            self._let_go(model)
        elif top + height > layout.end - _MARGIN and not timeline.at_end:
            model.read_after()
            self._let_go(model)
        self._follow_if_at_end(model)

    def _let_go(self, model: ChannelModel) -> None:
        """Drop rows on one side after rows were read on the other."""
        anchor = self._anchor()
        at = None if anchor is None else model.timeline.index_of(anchor[0])
        if at is not None:
            model.timeline.trim(at, at + self.size.height)
        model.refresh_gaps()
        self._lay_out(model)
        self._settle(model, anchor)
        self.refresh()

    def _follow_if_at_end(self, model: ChannelModel) -> None:
        self._follow(model.timeline.at_end and self.scroll_y >= self.max_scroll_y - 0.5)

    def _follow(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.post_message(self.Followed(self))

    def jump_to(self, key: Key, *, top: bool = False, choose: bool = False) -> None:
        """Show the message with this key, or the first row after it. `choose` selects it."""
        model = self.model
        if model is None:
            return
        place = (*key, 1, "")
        if not model.timeline.has_around(place, self.size.height + _MARGIN):
            model.open_around(key)
        model.refresh_gaps()
        self._follow(False)
        self._lay_out(model)
        rows = self._layout_of_rows.rows
        at = next((at for at, row in enumerate(rows) if row.item.place >= place), len(rows) - 1)
        if at < 0:
            return
        if choose:
            self._choose(rows[at].item.message_id or None)
        self._move_to(self._layout_of_rows.first_line(at) - (0 if top else self.size.height // 3))
        self._follow_if_at_end(model)
        self.post_message(self.Jumped(self))
        self.refresh()

    def jump_to_end(self) -> None:
        model = self.model
        if model is not None:
            if not model.timeline.at_end:
                model.open_at_end()
            self._follow(True)
            self._may_leave = model.selected
            self.refresh_rows()
            model.seen()

    # Selecting.

    def action_choose(self, step: int) -> None:
        """Select the next message or gap in this direction; the first time, the last one on the screen."""
        model = self.model
        if model is None:
            return
        if model.timeline.version != self._layout_of_rows.version:
            self.refresh_rows()  # rows came in since the last drawing
        rows = self._layout_of_rows.rows
        at = model.timeline.index_of_message(model.selected) if model.selected else None
        if at is None:
            bottom = min(round(self.scroll_y) + self.size.height, self._layout_of_rows.end) - 1
            seen, _ = self._layout_of_rows.row_at(bottom)
            at = (len(rows) - 1 if seen is None else seen) + (step < 0)
        at += step
        while 0 <= at < len(rows) and not rows[at].item.message_id:
            at += step
        if 0 <= at < len(rows):
            self._choose(rows[at].item.message_id)
            self._reveal(at)

    def _reveal(self, at: int) -> None:
        """Scroll as little as needed to show a row."""
        low, high = self._layout_of_rows.first_line(at), self._layout_of_rows.first_line(at + 1)
        top, height = round(self.scroll_y), self.size.height
        if low < top:
            self.scroll_to(y=low, animate=False, force=True)
        elif high > top + height:
            self.scroll_to(y=min(low, high - height), animate=False, force=True)
        self.refresh()

    def rows_in_use(self) -> tuple[int, range]:
        """Return the number of rows on the screen with something in them, and the rows of the selected message."""
        layout, top, model = self._layout_of_rows, round(self.scroll_y), self.model
        at = model.timeline.index_of_message(model.selected) if model is not None and model.selected else None
        chosen = range(0)
        if at is not None and at < len(layout.rows):
            chosen = range(max(0, layout.first_line(at) - top), max(0, layout.first_line(at + 1) - top))
        return min(self.size.height, layout.height - top), chosen

    def _choose(self, message_id: str | None) -> None:
        assert self.model is not None
        self._may_leave = None
        if self.model.selected != message_id:
            self.model.selected = message_id
            self.post_message(self.Chosen(self, message_id))
            self.refresh()

    def unchoose(self) -> None:
        if self.model is not None:
            self._choose(None)

    def action_start(self) -> None:
        model = self.model
        if model is not None and (found := model.conversation.messages(after=(-1, ""), limit=1)):
            self.jump_to(found[0].key, top=True)
            if model.timeline.at_start:
                self._move_to(0)  # with the lines above the first message
                self._follow_if_at_end(model)

    def action_end(self) -> None:
        self.jump_to_end()

    def action_pages(self, pages: int) -> None:
        self.scroll_to(y=self.scroll_y + pages * max(1, self.size.height - 2), animate=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        """Draw for another size. A selected message that was on the screen stays on it."""
        rows = self.rows_in_use()[1]
        seen, self._height = rows and rows.start < self._height, self.size.height
        self._layout_of_rows.clear()
        self.refresh_rows()
        rows, model = self.rows_in_use()[1], self.model
        at = None if model is None or not seen else model.timeline.index_of_message(model.selected or "")
        if at is not None and (not rows or rows.start):  # else its first line is above: it is being read
            self._reveal(at)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Offer what is known of the delivery of an own message below the mouse."""
        at, _ = self._layout_of_rows.row_at(round(self.scroll_y) + event.y)
        item = None if at is None else self._layout_of_rows.rows[at].item
        if item is not self._pointed:
            self._pointed = item
            told = self.model.told_of(item) if self.model is not None and isinstance(item, MessageItem) else ""
            self.tooltip = Text(first_sentence(told)) if told else None

    def on_click(self, event: events.Click) -> None:
        if event.chain > 1:  # the base class marks the whole log then
            event.prevent_default()
            return
        if self.text_selection is not None:  # the end of marking a text
            return
        at, _ = self._layout_of_rows.row_at(round(self.scroll_y) + event.y)
        if at is not None and self.model is not None:
            found = self._layout_of_rows.rows[at].item.message_id
            self._choose(found if found and found != self.model.selected else None)
