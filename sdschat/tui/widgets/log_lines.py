"""The drawing of a log's lines, with the text that is marked with the mouse."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from sdschat.tui.line_style import Look
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.widgets.layout import Layout


class LogLines(ScrollView, can_focus=True):
    """Draws the visible lines of a layout. `LogView` decides which lines are visible."""

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.look = look
        self.model: ChannelModel | None = None
        self._layout_of_rows = Layout()

    def render_line(self, y: int) -> Strip:
        line, width, base = round(self.scroll_y) + y, self.size.width, self.rich_style
        at, offset = self._layout_of_rows.row_at(line)
        if at is None or self.model is None:
            return Strip.blank(width, base)
        drawn = self._layout_of_rows.rows[at]
        strip, message_id = drawn.strips[offset], drawn.item.message_id
        if message_id and message_id == self.model.selected and offset >= sum(drawn.lead):
            mark = Segment(self.look.glyphs.chosen, Style(bold=True))
            strip = Strip([*strip.crop(0, 1), mark, *strip.crop(2)])
            base += self.look.style("chosen")
        strip = strip.crop_extend(0, width, base).apply_style(base)
        return self._with_selection(strip, line).apply_offsets(0, line)

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
        """Return the text marked with the mouse, of the rows in memory."""
        layout = self._layout_of_rows
        low = 0 if selection.start is None else selection.start.y
        high = layout.end if selection.end is None else selection.end.y + 1
        lines = []
        for line in range(max(low, layout.above), min(high, layout.end)):
            at, offset = layout.row_at(line)
            text = "" if at is None else layout.rows[at].strips[offset].text
            span = selection.get_span(line)
            if span is not None:
                lines.append(text[span[0] : len(text) if span[1] < 0 else span[1]].rstrip())
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()
