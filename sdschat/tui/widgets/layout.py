"""The layout of a log: its rows as they were last drawn, and the number of lines before each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Final, NamedTuple

from textual.strip import Strip

from sdschat.node.view.private import is_only_member
from sdschat.node.view.values import Key
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import GapItem, Item, MessageItem, Place
from sdschat.tui.model.words import day_number
from sdschat.tui.row_lines import Surroundings, day_line, head_line, item_lines, unread_line
from sdschat.tui.themes import LineStyle

_MINUTE: Final = 60_000
_SLACK: Final = 100  # drawn rows that are kept although they are no longer in memory


class Lead(NamedTuple):
    """The place of a row below another one."""

    day: bool = False  # a day line stands above it
    unread: bool = False  # the unread line stands above it
    same_author: bool = False  # as of the message right above
    same_minute: bool = False


class Drawn:
    """A row with the lines that were last drawn for it."""

    __slots__ = ("day", "item", "lead", "strips")

    def __init__(self, item: Item, day: int) -> None:
        self.item = item
        self.day = day
        self.lead = Lead()
        self.strips: list[Strip] = []


class Layout:
    """The lines of the whole log. A message that is not in memory counts as one line."""

    def __init__(self) -> None:
        self.rows: list[Drawn] = []
        self.starts: list[int] = [0]  # first line of each row, from 0; the last item: their number of lines
        self.above = 0  # number of lines before the rows in memory
        self.below = 0
        self.version = -1  # version of the timeline that was laid out
        self._first: Key | None = None  # the first message in memory when `above` was set
        self._last: Key | None = None
        self._rank_of_last = 0
        self._around = Surroundings()  # that were drawn for
        self._cache: dict[Place, Drawn] = {}

    def clear(self) -> None:
        """Forget all drawn rows."""
        self._cache.clear()
        self._first = self._last = None
        self.version = -1

    def forget(self, place: Place) -> None:
        """Forget one drawn row, whose text has changed."""
        self._cache.pop(place, None)

    @property
    def end(self) -> int:
        """Return the number of the line after the last row in memory."""
        return self.above + self.starts[-1]

    @property
    def height(self) -> int:
        return self.end + self.below

    def row_at(self, line: int) -> tuple[int | None, int]:
        """Return the index of the row in memory with this line, and the line's index in it."""
        local = line - self.above
        if not 0 <= local < self.starts[-1]:
            return None, 0
        at = bisect_right(self.starts, local) - 1
        return at, local - self.starts[at]

    def ids_between(self, low: int, high: int) -> set[str]:
        """Return the ids of the messages and gaps with a line among these; that of the highest is not in it."""
        first = max(0, bisect_right(self.starts, low - self.above) - 1)
        last = bisect_left(self.starts, high - self.above)
        return {row.item.message_id for row in self.rows[first:last] if row.item.message_id}

    def first_line(self, at: int) -> int:
        return self.above + self.starts[at]

    def top_strip(self, at: int, offset: int, width: int, line_style: LineStyle) -> Strip:
        """Return a line of a row as it is drawn at the top of the screen: that of a message names its author there,
        who is named above it, out of sight."""
        drawn = self.rows[at]
        strip, leads = drawn.strips[offset], drawn.lead.day + drawn.lead.unread
        named = offset == leads and not drawn.lead.same_author
        if named or offset < leads or not isinstance(drawn.item, MessageItem):
            return strip
        head = Strip(head_line(drawn.item, width, line_style))
        return Strip([*head, *strip.crop(head.cell_length)])

    def make(self, model: ChannelModel, width: int, line_style: LineStyle) -> None:
        """Lay out all rows of the model. Only new ones are drawn."""
        timeline, now = model.timeline, model.view.now().wall
        self.version = timeline.version
        cache, starts, total = self._cache, [0], 0
        rows: list[Drawn] = []
        previous_day, unread_above = -1, model.unread_line.after
        before: Item | None = None  # the row right above
        around = Surroundings(model.present, only_member=is_only_member(model.view.node, model.name))
        regathered, self._around = self._around != around, around
        for item in timeline.items:
            drawn = cache.get(item.place)
            if drawn is None or drawn.item is not item:
                drawn = cache[item.place] = Drawn(item, day_number(item.at))
            unread = unread_above is not None and isinstance(item, MessageItem) and item.key > unread_above
            lead = _lead(item, before, drawn.day != previous_day and not isinstance(item, GapItem), unread)
            before = item
            if not drawn.strips or drawn.lead != lead or (regathered and isinstance(item, MessageItem) and item.own):
                drawn.lead = lead
                drawn.strips = _draw(item, lead, width, line_style, now, around)
            if lead.day:
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
        """Set the numbers of lines above and below the rows in memory: about one for each message."""
        timeline = model.timeline
        first, last = timeline.first_key(), timeline.last_key()
        if timeline.at_start or first is None:
            self.above = 0
        elif first != self._first:
            self.above = max(1, model.conversation.rank(first[1]) - 1)
        self._first = first
        self.below = 0
        if not timeline.at_end and last is not None:
            if last != self._last:
                self._last, self._rank_of_last = last, model.conversation.rank(last[1])
            self.below = max(1, model.total - self._rank_of_last)


def _lead(item: Item, before: Item | None, day: bool, unread: bool) -> Lead:
    """Return the place of a row: below another message of its author its nick is not said again."""
    if day or unread or not isinstance(item, MessageItem) or not isinstance(before, MessageItem):
        return Lead(day, unread)
    if item.action or before.action or _who(item) != _who(before):
        return Lead()
    return Lead(same_author=True, same_minute=item.at // _MINUTE == before.at // _MINUTE)


def _who(entry: MessageItem) -> tuple[str, str, str, bool]:
    return entry.sender_id, entry.nick, entry.tag, entry.verified


def _draw(item: Item, lead: Lead, width: int, line_style: LineStyle, now: int, around: Surroundings) -> list[Strip]:
    surroundings = around._replace(same_author=lead.same_author, same_minute=lead.same_minute)
    lines = item_lines(item, width, line_style, now, surroundings)
    if lead.unread:
        lines.insert(0, unread_line(width, line_style))
    if lead.day:
        lines.insert(0, day_line(item.at, width, line_style))
    return [Strip(line) for line in lines]
