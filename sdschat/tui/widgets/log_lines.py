"""The visible lines of a log, with its selected message, and the text that is marked with the mouse."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.words import ISOLATES
from sdschat.tui.row_lines import text_column
from sdschat.tui.themes import LineStyle
from sdschat.tui.widgets.layout import Layout

_LEAST_WIDTH: Final = 18


class LogLines(ScrollView, can_focus=True):
    """Draws the visible lines of a layout. `LogView` decides which lines are visible."""

    def __init__(self, line_style: LineStyle, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.line_style = line_style
        self.model: ChannelModel | None = None
        self._layout_of_rows = Layout()

    def render_line(self, y: int) -> Strip:
        line, width, base = round(self.scroll_y) + y, self.size.width, self.rich_style
        at, offset = self._layout_of_rows.row_at(line)
        if at is None or self.model is None:
            return Strip.blank(width, base)
        drawn = self._layout_of_rows.rows[at]
        strip, message_id = drawn.strips[offset], drawn.item.message_id
        if not y:
            strip = self._layout_of_rows.top_strip(at, offset, self._drawn_width(), self.line_style)
        if message_id and message_id == self.model.selected and offset >= drawn.lead.day + drawn.lead.unread:
            mark = Segment(self.line_style.glyphs.chosen, Style(bold=True))
            strip = Strip([*strip.crop(0, 1), mark, *strip.crop(2)])
            base += self.line_style.style("chosen")
        strip = strip.crop_extend(0, width, base).apply_style(base)
        return self._with_selection(strip, line, base).apply_offsets(0, line)

    def _drawn_width(self) -> int:
        """Return the width for which rows are drawn."""
        return max(_LEAST_WIDTH, self.scrollable_content_region.width)

    def _with_selection(self, strip: Strip, line: int, base: Style) -> Strip:
        """Return a line with what is marked of it in reverse. `base`: the colours of the line, without its parts."""
        selection = self.text_selection
        span = None if selection is None else selection.get_span(line)
        if span is None:
            return strip
        start, end = span[0], strip.cell_length if span[1] < 0 else min(span[1], strip.cell_length)
        style = Style(color=base.color, bgcolor=base.bgcolor, reverse=not base.reverse)
        marked = strip.crop(start, end)
        over = Strip(Segment.apply_style(marked, post_style=style), marked.cell_length)
        return Strip.join([strip.crop(0, start), over, strip.crop(end)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the text marked with the mouse, of the rows in memory. What is marked within one message has not the
        empty columns before its lines; of several messages it has: no line of a text is to look like a message."""
        layout = self._layout_of_rows
        low = 0 if selection.start is None else selection.start.y
        high = layout.end if selection.end is None else selection.end.y + 1
        found = [(line, *layout.row_at(line)) for line in range(max(low, layout.above), min(high, layout.end))]
        beside = text_column(self._drawn_width()) if len({at for _, at, _ in found}) == 1 else 0
        lines: list[str] = []
        for line, at, offset in found:
            text = "" if at is None else layout.rows[at].strips[offset].text
            span = selection.get_span(line)
            if span is not None:
                empty = beside if lines and text[1:beside].isspace() else 0  # in the first column may be a bar
                lines.append(text[max(empty, span[0]) : len(text) if span[1] < 0 else span[1]].rstrip())
        return ISOLATES.sub("", "\n".join(lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()
