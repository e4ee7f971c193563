"""A sheet over the log: help, answers of commands, and lists that have no room beside the log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Size
from textual.markup import escape
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from sdschat.tui.model.results import Mark, Page, goes_on, lines_with
from sdschat.tui.model.words import LEFT_TO_RIGHT, listed
from sdschat.tui.row_lines import FIRST_COLUMN, hanging, isolated, marked
from sdschat.tui.themes import Line, LineStyle, keys_marked
from sdschat.tui.widgets.log_view import LogView

_KEYS_OF_A_TEXT: Final = ("type to filter", "Esc closes")
_KEYS_OF_PAGES: Final = ("Tab next page", *_KEYS_OF_A_TEXT)
_SCROLLS: Final = "PgUp PgDn"  # named where a text is longer than the sheet, and there is room
_KEYS_FROM_INPUT: Final = ("Esc closes",)  # while the input has the focus
_KEYS_OF_A_FILTER: Final = "Esc shows all"
_LEAST_FOR_FILTER: Final = 14  # columns for the words of a filter, before the key beside them gets any
_LABEL: Final = 6  # columns of the frame around its title, and around the keys
_WHOLE: Final = 5  # lines of the screen's body below which there is no frame but the line with the title
_SIDES: Final = 6  # columns of the frame, of what is free beside the text, and of the scroll bar
_INDENT, _FURTHER = 12, 2  # columns before the text in a table of details; before a line that goes on with another
_GAP: Final = 1  # column between the text and the scroll bar
_COLUMN: Final = 110  # columns beyond which a text is hard to read
_KEY_NAMES: Final = re.compile(
    r"(?<![\w/-])(?:F\d+|(?:Alt|Ctrl|Shift)\+[A-Z]\w*|Enter|Esc|Tab|/[a-z]+|--[a-z]+)(?![\w./])(?: [A-Z]{3,}\b)?"
)


def _unbroken(line: str) -> int:
    """Return the columns that a line needs so that its longest word is whole."""
    words = [*re.finditer(r"\S+", line)]
    longest = max(words, key=lambda word: len(word[0]), default=None)
    return 0 if longest is None else longest.end() if longest.start() <= _INDENT else len(longest[0]) + _FURTHER


def _is_heading(page: Page, line: int) -> bool:
    """True if a line is a heading: also where it takes several rows."""
    text = page.lines[line]
    return not page.marks and text.endswith(":") and not text.startswith((" ", "-"))


class Sheet(ScrollView, can_focus=True):
    """Shows one of several pages. Typed letters filter its lines; Esc, which the application handles, closes it."""

    named_keys: ClassVar = ()  # its own frame names them
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,right", "turn(1)", "Next page", show=False),
        Binding("shift+tab,left", "turn(-1)", "Previous page", show=False),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "pages(-1)", "Page up", show=False),
        Binding("pagedown", "pages(1)", "Page down", show=False),
        Binding("home", "ends(-1)", "Top", show=False),
        Binding("end", "ends(1)", "End", show=False),
        Binding("enter", "choose", "Choose", show=False),
        Binding("backspace", "shorten", "Shorten the filter", show=False),
    ]
    DEFAULT_CSS = """
    Sheet { layer: sheet; width: 100%; max-height: 100%; display: none; background: $surface; padding: 0 0 0 1;
        border: round $secondary; border-title-color: $foreground; border-subtitle-color: $foreground 75%;
        overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable; scrollbar-size-vertical: 1;
        scrollbar-background: $surface; scrollbar-background-hover: $surface; scrollbar-background-active: $surface; }
    Sheet:focus { border: round $accent; border-title-color: $accent; }
    """

    @dataclass
    class Picked(Message):
        """A line of a list was chosen; `line` is a command without its slash."""

        line: str

    def __init__(self, line_style: LineStyle, *, id: str) -> None:
        super().__init__(id=id)
        self.line_style = line_style
        self._pages: Sequence[Page] = ()
        self._at = 0
        self._filter = ""
        self._found: list[int] = []  # the lines of the page that the filter leaves
        self._area: LogArea | None = None  # the part of the screen that it covers
        self._needs = 0  # columns without which a picture in it is nothing, or a word is broken
        self._covers_all = False  # also the lists beside the log
        self._chosen = 0  # index in `_found` of the line that is chosen, in a list
        self.marked: re.Pattern[str] | None = None  # what a search marks in a list
        self._highest: tuple[Sequence[Page], int, int] = ((), 0, 0)  # the pages, their width, and rows of the highest
        self._rows: list[tuple[str, int, bool]] = []  # text, index in `_found` of its line, True in its first row

    @property
    def page(self) -> Page | None:
        """Return the page that is shown; None while the sheet is closed."""
        return self._pages[self._at] if self._pages and self.display else None

    def cover(self, area: LogArea) -> None:
        """Cover this part of the screen; the lists beside it, too, if only that makes room for a picture or for a word
        such as an id."""
        self._area = area
        body = area.parent
        if not isinstance(body, Widget) or not body.size.width:
            return
        bare = body.size.height < _WHOLE
        if bare != self.has_class("-bare"):  # the frame takes columns of the text, and no event tells of that
            self.set_class(bare, "-bare")
            self.call_after_refresh(self._lay_out)
        place, whole = area.region, body.region
        self._covers_all = not place.width or place.width < self._needs + _SIDES <= whole.width
        self.styles.margin = 0 if self._covers_all else (0, whole.right - place.right, 0, place.x - whole.x)
        self._find_place()

    def _find_place(self) -> None:
        """Stand where it hides least of the log."""
        area, height, page = self._area, self.styles.height, self.page
        first = 0
        if page is not None and page.at_top:
            pass
        elif area is not None and height is not None and not self.has_class("-bare"):
            first = area.first_row_for(int(height.value))
        if self.styles.offset.y.value != first:
            self.styles.offset = (0, first)

    def open(self, pages: Sequence[Page], title: str = "", *, needs: int = 0) -> None:
        """Show pages, the one with this title first. `needs`: the columns of a picture in it."""
        titles = [page.title for page in pages]
        self._pages, self._at = pages, titles.index(title) if title in titles else 0
        self._needs = needs or max(map(_unbroken, pages[0].lines), default=0) * (len(pages) == 1)
        if self._area is not None:
            self.cover(self._area)
        self._filter, self._chosen = "", pages[self._at].chosen
        self.display = True
        self._lay_out()
        self.scroll_home(animate=False)
        self.call_after_refresh(self._reveal, -1)

    def close(self) -> None:
        self.display = False
        self._pages = ()

    def renew(self, *, lists: bool = False) -> None:
        """Take the page as it is now; a list only with `lists`. The place, the filter and what is chosen stay."""
        page = self.page
        if page is None:
            return
        self._find_place()  # the log grows
        if page.renew is None or (page.runs and not lists):
            return
        now = page.renew()._replace(renew=page.renew, chosen=page.chosen)
        if now == page:
            return
        chosen = page.runs[self._found[self._chosen]] if page.runs and self._found else None
        self._pages = [now if other is page else other for other in self._pages]
        self._lay_out()
        still = (place for place, at in enumerate(self._found) if chosen is not None and now.runs[at] == chosen)
        self._chosen = next(still, max(0, min(self._chosen, len(self._found) - 1)))

    def filter(self, words: str) -> None:
        """Leave only the lines that have all these words."""
        self._filter, self._chosen = words, 0
        self._lay_out()
        self.scroll_home(animate=False)

    def narrow(self, text: str) -> None:
        """Add a text to the filter."""
        self.filter(" ".join(f"{self._filter}{text}".split()))

    def clear_filter(self) -> bool:
        """Show all lines again. False if there was no filter."""
        filtered = bool(self._filter)
        if filtered:
            self.filter("")
        return filtered

    def _lay_out(self) -> None:
        page = self.page
        if page is None:
            return
        words = self._filter.lower().split()
        self._found = list(lines_with(page.lines, words))
        width = max(10, min(max(_COLUMN, self._needs), self._columns() - _GAP))
        self._rows = [
            (part, place, not number)
            for place, at in enumerate(self._found)
            for number, part in enumerate(hanging(page.lines[at], width))
        ]
        if not self._found and words:
            none = f"No line here has {' and '.join(words)}. {self._elsewhere(words)}Backspace takes a letter back."
            self._rows = [(part, -1, False) for part in hanging(none, width)]
        self.virtual_size = Size(width, len(self._rows))
        if not words:  # as high as the highest page: it does not move while one turns the pages, or filters
            high = max(len(self._rows), self._others_rows(width)) + self.gutter.height
            self.styles.height = high
            self._find_place()
        self._draw_frame(page)
        self.refresh()

    def _columns(self) -> int:
        """Return the columns within the frame; before it is on the screen, those that it will have there."""
        inner, over = self.scrollable_content_region.width, self._area
        if inner or over is None:
            return inner
        body = over.parent
        place = body if self._covers_all and isinstance(body, Widget) else over
        return place.region.width - self.gutter.width - self.scrollbar_size_vertical

    def _others_rows(self, width: int) -> int:
        """Return the rows of the highest of several pages: found once while they and the width are the same."""
        pages, at, rows = self._highest
        if pages is not self._pages or at != width:
            several = self._pages if len(self._pages) > 1 else ()
            rows = max((sum(len([*hanging(line, width)]) for line in page.lines) for page in several), default=0)
            self._highest = self._pages, width, rows
        return rows

    def _elsewhere(self, words: Sequence[str]) -> str:
        """Return which of the other pages have these words, in a sentence; empty if none has."""
        found = [page.title for page in self._pages if any(lines_with(page.lines, words))]
        return f"On another page (Tab): {listed(found)}. " if found else ""

    def _draw_frame(self, page: Page) -> None:
        """Draw the titles of the pages, and the keys that do something now."""
        several, between = len(self._pages) > 1, f" {self.line_style.glyphs.between} "
        room = self.outer_size.width - _LABEL
        self.border_title = self._titles(page, room) if several else escape(page.title)
        keys: Sequence[str] = _KEYS_OF_PAGES if several else _KEYS_OF_A_TEXT
        if page.runs:
            keys = (f"Enter {page.enter}", *_KEYS_OF_A_TEXT)
        if not self.has_focus:
            keys = _KEYS_FROM_INPUT
        if self._filter:
            left = room - cell_len(between + _KEYS_OF_A_FILTER)
            keys = (self._filter_words(left if left >= _LEAST_FOR_FILTER else room), _KEYS_OF_A_FILTER)
        elif len(self._rows) > self._room():
            keys = (_SCROLLS, *keys) if len(between.join((_SCROLLS, *keys))) <= room else keys
        while len(keys) > 1 and cell_len(between.join(keys)) > room:
            keys = keys[:-1] if self._filter else (*keys[:-2], keys[-1])  # how one leaves is named in any case
        self.border_subtitle = keys_marked(keys, between, coloured=not self.line_style.palette.theme.ansi)
        if self._filter and self.has_class("-bare"):
            self.border_title = escape(keys[0])

    def _filter_words(self, room: int) -> str:
        """Return the words of the filter, or as much of their end as has room."""
        shown, cut = self._filter, ""
        while shown and cell_len(f"filter: {cut}{shown}_") > room:
            shown, cut = shown[1:], self.line_style.glyphs.cut
        return f"filter: {cut}{shown}_"

    def _titles(self, page: Page, room: int) -> str:
        """Return the titles of all pages; where they have no room, that of the page alone, between two signs."""
        shown = f"[reverse] {escape(page.title)} [/reverse]"
        if sum(cell_len(other.title) + 2 for other in self._pages) > room > 0:
            glyphs = self.line_style.glyphs
            return f"{glyphs.back}{shown}{glyphs.further}"
        steps = ((other, (n - self._at) % len(self._pages)) for n, other in enumerate(self._pages))
        return "".join(f"[@click=turn({by})] {escape(other.title)} [/]" if by else shown for other, by in steps)

    def _room(self) -> int:
        """Return the number of rows that are seen at once."""
        body = self.parent
        most = body.size.height if isinstance(body, Widget) else len(self._rows)
        return most - self.gutter.height

    def render_line(self, y: int) -> Strip:
        at, width, base = y + round(self.scroll_y), self.scrollable_content_region.width, self.rich_style
        page = self.page
        if page is None or at >= len(self._rows):
            return Strip.blank(width, base)
        text, place, first = self._rows[at]
        row = self._drawn(page, text, self._found[place] if place >= 0 else None, first=first)
        drawn = Strip(isolated([*marked(row, self.marked if page.runs else None)], LEFT_TO_RIGHT))
        chosen = self.line_style.style("chosen") if page.runs and place == self._chosen else Style()
        return drawn.apply_style(chosen).crop_extend(0, width, base + chosen).apply_style(base)

    def _drawn(self, page: Page, text: str, line: int | None, *, first: bool) -> Line:
        """Return a row with the styles of its parts. `line`: the line that it is part of; `first`: and begins with."""
        style = self.line_style.style("help")
        if line is not None and _is_heading(page, line):
            words = text.lstrip()
            return [Segment(text[: -len(words)], style), Segment(words, self.line_style.style("heading"))]
        if line is None or not first:
            return self._with_keys(page, [Segment(text, style)])
        found: Line = []
        at = 0
        for low, high, name in page.marks[line] if page.marks else self._first_column(page, text, line):
            found += [Segment(text[at:low], style), Segment(text[low:high], self.line_style.style(name))]
            at = high
        found.append(Segment(text[at:], style))
        return self._with_keys(page, [segment for segment in found if segment.text])

    def _with_keys(self, page: Page, drawn: Line) -> Line:
        """Return a row with the keys and commands that it names marked, if the page is about the program."""
        pattern = _KEY_NAMES if page.names_keys else None
        return [*marked(drawn, pattern, self.line_style.style("key"))]

    def _first_column(self, page: Page, text: str, line: int) -> Iterator[Mark]:
        """Yield the mark of the first column, if the line is one of a table."""
        column = FIRST_COLUMN.match(text)
        if column is not None:
            yield column.start(2), column.end(2), "key"
        elif text.startswith("  ") and goes_on(page.lines, line + 1):
            yield 0, len(text), "key"

    # Keys.

    async def _on_key(self, event: events.Key) -> None:
        if event.is_printable and event.character is not None and not (event.character == " " and not self._filter):
            event.stop()
            event.prevent_default()
            self.filter(self._filter + event.character)

    def action_shorten(self) -> None:
        self.filter(self._filter[:-1])

    def action_turn(self, by: int) -> None:
        if len(self._pages) > 1:
            self._at = (self._at + by) % len(self._pages)
            self.filter("")

    def action_move(self, by: int) -> None:
        page = self.page
        if page is None or not page.runs:
            self.scroll_relative(y=by, animate=False)
            return
        self._chosen = max(0, min(len(self._found) - 1, self._chosen + by))
        self._reveal(by)
        self.refresh()

    def _reveal(self, by: int) -> None:
        """Scroll as far as the line that is chosen, which was reached by going up or down."""
        row = next((row for row, (_, place, _) in enumerate(self._rows) if place == self._chosen), 0)
        height = self.scrollable_content_region.height
        if not self.scroll_y <= row < self.scroll_y + height:
            self.scroll_to(y=row if by < 0 else row - height + 1, animate=False)

    def action_pages(self, pages: int) -> None:
        """Go so many pages further, at once: one reads on where one looks."""
        self.action_move(pages * max(1, self.scrollable_content_region.height - 1))

    def action_ends(self, way: int) -> None:
        self.action_move(way * max(len(self._rows), len(self._found)))

    def action_choose(self) -> None:
        page = self.page
        if page is not None and page.runs and self._found:
            self.post_message(self.Picked(page.runs[self._found[self._chosen]]))

    def on_click(self, event: events.Click) -> None:
        y, top = event.y - 1, round(self.scroll_y)
        if 0 <= y < self.scrollable_content_region.height and y + top < len(self._rows):  # not on the frame
            self._chosen = self._rows[y + top][1]
            self.action_choose()

    def on_resize(self) -> None:
        self._lay_out()

    on_focus = on_blur = on_resize


class LogArea(Horizontal):
    """The place of the log, or of both of a split. The sheet lies over it, and leaves the lists beside it whole."""

    def __init__(self, sheet: Sheet, log: LogView, *, id: str) -> None:
        super().__init__(id=id)
        self._sheet = sheet
        self._log = log

    def on_resize(self) -> None:
        self._sheet.cover(self)

    def first_row_for(self, high: int) -> int:
        """Return the first row of a sheet so high: it stands at the top, but in the last rows where nothing is written
        yet, or where it would hide the selected message at the top alone."""
        first = self._log.size.height - high
        if first <= 0 or self._log.size != self.size:  # a split has two logs
            return 0
        written, chosen = self._log.rows_in_use()
        return first if written <= first or (chosen and chosen.start < high and chosen.stop <= first) else 0
