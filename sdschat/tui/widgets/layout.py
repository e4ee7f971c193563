"""Which line of a log is which row: rows as they were drawn last, and how many lines there are before each."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from textual.strip import Strip

from sdschat.node.view_values import Key
from sdschat.tui.look import Look, day_line, item_lines, unread_line
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import Entry, GapItem, Item, Place
from sdschat.tui.model.words import day_number

_SLACK: Final = 100  # drawings that are kept though their rows are not at hand any more


class Drawn:
    """A row as it was last drawn."""

    __slots__ = ("day", "item", "lead", "strips")

    def __init__(self, item: Item, day: int) -> None:
        self.item = item
        self.day = day
        self.lead = (False, False)  # whether a day line and the unread line stand above it
        self.strips: list[Strip] = []


class Layout:
    """Lines are counted over the whole log: what is not at hand counts as one line a message."""

    def __init__(self) -> None:
        self.rows: list[Drawn] = []
        self.starts: list[int] = [0]  # the first line of each row, and the number of all lines
        self.above = 0  # lines before the rows at hand
        self.below = 0
        self.version = -1  # of the timeline as it was laid out
        self._first: Key | None = None
        self._cache: dict[Place, Drawn] = {}

    def clear(self) -> None:
        """Everything is to be drawn anew."""
        self._cache.clear()
        self._first = None
        self.version = -1

    def forget(self, place: Place) -> None:
        """This row says something else by now."""
        self._cache.pop(place, None)

    @property
    def end(self) -> int:
        """The line after the last row at hand."""
        return self.above + self.starts[-1]

    @property
    def height(self) -> int:
        return self.end + self.below

    def row_at(self, line: int) -> tuple[int | None, int]:
        """Which of the rows at hand has this line, and which of its lines it is."""
        local = line - self.above
        if not 0 <= local < self.starts[-1]:
            return None, 0
        at = bisect_right(self.starts, local) - 1
        return at, local - self.starts[at]

    def first_line(self, at: int) -> int:
        return self.above + self.starts[at]

    def make(self, model: ChannelModel, width: int, look: Look) -> None:
        """Only what is new is drawn."""
        timeline, now = model.timeline, model.view.now().wall
        self.version = timeline.version
        cache, starts, total = self._cache, [0], 0
        rows: list[Drawn] = []
        previous_day, unread_above = -1, model.unread_after
        for item in timeline.items:
            drawn = cache.get(item.place)
            if drawn is None or drawn.item is not item:
                drawn = cache[item.place] = Drawn(item, day_number(item.at))
            unread = unread_above is not None and isinstance(item, Entry) and item.key > unread_above
            lead = (drawn.day != previous_day and not isinstance(item, GapItem), unread)
            if not drawn.strips or drawn.lead != lead:
                drawn.lead = lead
                drawn.strips = _draw(item, lead, width, look, now)
            if lead[0]:
                previous_day = drawn.day
            if unread:
                unread_above = None
            total += len(drawn.strips)
            starts.append(total)
            rows.append(drawn)
        self.starts, self.rows = starts, rows
        self._measure(model)
        if len(cache) > 2 * len(rows) + _SLACK:
            self._cache = {drawn.item.place: drawn for drawn in rows}

    def _measure(self, model: ChannelModel) -> None:
        """How many lines there are beside what is at hand: one for each message, nearly."""
        timeline = model.timeline
        first, last = timeline.first_key(), timeline.last_key()
        if timeline.at_start or first is None:
            self.above = 0
        elif first != self._first:
            self.above = max(1, model.view.rank(model.name, first[1]) - 1)
        self._first = first
        self.below = 0
        if not timeline.at_end and last is not None:
            self.below = max(1, model.total - model.view.rank(model.name, last[1]))


def _draw(item: Item, lead: tuple[bool, bool], width: int, look: Look, now: int) -> list[Strip]:
    lines = item_lines(item, width, look, now)
    if lead[1]:
        lines.insert(0, unread_line(width, look))
    if lead[0]:
        lines.insert(0, day_line(item.at, width, look))
    return [Strip(line) for line in lines]
