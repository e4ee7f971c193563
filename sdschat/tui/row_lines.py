"""Drawing of rows as lines of a terminal: columns, signs and colours.

Also the tick of an own message, and the marks on the words of a search.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from sdschat.tui.model.from_events import link_spans
from sdschat.tui.model.items import Doubt, Fate, GapItem, Item, MessageItem, NoteItem, Phase, Tone, gap_words
from sdschat.tui.model.status import PART
from sdschat.tui.model.words import (
    END_OF_ISOLATE,
    ISOLATE,
    LEFT_TO_RIGHT,
    NO_BREAK,
    TEXT_LIMIT,
    Glyphs,
    clock,
    closed,
    day,
    fitted,
    fitted_nick,
    goes_left,
    short,
    wrapped,
)
from sdschat.tui.themes import Line, LineStyle

_MARK: Final = Style(reverse=True, underline=True)  # underlined too: a selected row may be reverse itself
_WORD: Final = re.compile(r"\w+")
_MOST: Final = 16
_DOUBTS: Final = {Doubt.UNPROVEN: "remark", Doubt.FORGERY: "refused"}  # names of styles
_ISOLATED: Final = re.compile(f"{ISOLATE}[^{END_OF_ISOLATE}]*{END_OF_ISOLATE}")


def pattern_of(words: str) -> re.Pattern[str] | None:
    """Return what is marked for these words: whole words, and of the last one also a beginning."""
    found = _WORD.findall(words)[:_MOST]
    if not found:
        return re.compile(re.escape(words.strip()), re.IGNORECASE) if words.strip() else None
    *whole, last = (re.escape(word) for word in found)
    tail = "" if words[-1].isalnum() else r"(?!\w)"
    parts = [rf"{word}(?!\w)" for word in whole] + [f"{last}{tail}"]
    start = r"(?<!\w)" if words.isascii() else ""  # there are scripts without spaces between words
    return re.compile(f"{start}(?:{'|'.join(parts)})", re.IGNORECASE)


def marked(line: Sequence[Segment], pattern: re.Pattern[str] | None, mark: Style = _MARK) -> Iterator[Segment]:
    """Yield the segments of a text, with what the pattern matches marked, as hits are if nothing else is wanted."""
    for segment in line:
        at = 0
        for found in () if pattern is None else pattern.finditer(segment.text):
            low, high = found.span()
            if low > at:
                yield Segment(segment.text[at:low], segment.style)
            yield Segment(segment.text[low:high], (segment.style or Style()) + mark)
            at = high
        if at < len(segment.text):
            yield Segment(segment.text[at:], segment.style)


_MOST_CELLS: Final = 8  # participants; above them stands a bar
_WORDS: Final = {Phase.QUEUED: "queued", Phase.UNACKED: "unacked", Phase.MAYBE: "perhaps", Phase.ACKED: "acked"}
_STYLES: Final = {Phase.MAYBE: "maybe"}  # names of styles that are not the word


def fate_words(fate: Fate, glyphs: Glyphs) -> tuple[str, str]:
    """Return sign, word and counts of a state, and the name of its style."""
    if fate.refused:
        return f"{glyphs.refused} refused", "refused"
    sign = (glyphs.queued, glyphs.unacked, glyphs.maybe, glyphs.acked)[fate.phase]
    number = len(fate.known if fate.phase is Phase.ACKED else fate.perhaps)
    counted = f" {number}" if number and fate.phase >= Phase.MAYBE else ""
    unproven = f", unproven {len(fate.unproven)}" if fate.unproven else ""
    word = fate.word or f"{_WORDS[fate.phase]}{counted}"
    return f"{sign} {word}{unproven}", _STYLES.get(fate.phase, _WORDS[fate.phase])


def tick(fate: Fate, present: tuple[str, ...], line_style: LineStyle) -> Line:
    """Return the living tick of a message: who of those `present` is known to have it, perhaps has it, or says so
    unsigned; then who was here when it was written, went away, and is not known to have it. Once all are known to have
    it, one quiet sign is left. While nobody is present, those who were here when it was written have their cells."""
    glyphs = line_style.glyphs
    if fate.full:
        return [Segment(glyphs.acked, line_style.style("time"))]
    absent = fate.absent(present)
    if not (present or absent) or fate.word or fate.past or fate.phase is Phase.QUEUED:
        words, name = fate_words(fate, glyphs)
        return [Segment(words, line_style.style(name))]
    here = present or sorted(fate.addressed & fate.known)
    known, all_of_them = len(fate.known.intersection(here)), len(here) + len(absent)
    style = line_style.style("acked" if known else "maybe" if fate.perhaps else "unacked")
    counted = Segment(f" {known}/{all_of_them}", style)
    if all_of_them > _MOST_CELLS:
        filled = known * _MOST_CELLS // all_of_them
        return [Segment(glyphs.full * filled + glyphs.empty * (_MOST_CELLS - filled), style), counted]
    cells = [Segment(cell(fate, one, glyphs), line_style.nick_style(one)) for one in here]
    cells += [Segment(cell(fate, one, glyphs, here=False), line_style.nick_style(one)) for one in absent]
    return [*cells, counted]


def cell(fate: Fate, participant: str, glyphs: Glyphs, *, here: bool = True) -> str:
    """Return the sign for what is known of one participant."""
    if participant in fate.known:
        return glyphs.known
    if participant in fate.perhaps:
        return glyphs.maybe
    if participant in fate.unproven:
        return glyphs.unproven
    return glyphs.nothing if here else glyphs.away


_WIDE: Final = 70  # columns from which there is room for long nicks and ids
_SMALL: Final = 40  # columns below which there is no room for times
_NICKS: Final = ((138, 16), (_WIDE, 11), (_SMALL, 8), (0, 5))  # columns of a nick; 138: beside a text of full width
_LEAST_TEXT, _MOST_TEXT = 10, 110
_WHOLE, _FOLDED = 30, 24  # a text of more lines than the first is drawn with as many as the second
_MARKS: Final = 18  # columns for the marks beside a text of full width
_ID: Final = 6  # and for the id
_FURTHER_IN: Final = 2
_NOTHING: Final = Style()
FIRST_COLUMN: Final = re.compile(r"(\s{2,16})(\S.*?)(?=\s{2,}\S)")  # of a line in a table
_COLUMN: Final = re.compile(r"(?<=\S)\s{2,}(?=\S)")  # between two columns of a table


class Surroundings(NamedTuple):
    """The conditions around a row that its lines depend on."""

    present: tuple[str, ...] = ()  # ids of the others who are here, each with a cell beside own messages
    same_author: bool = False  # as of the message right above, so that the nick is said
    same_minute: bool = False  # likewise, so that the time is said
    only_member: bool = False  # of a private channel: nobody could confirm anything


ALONE: Final = Surroundings()


def item_lines(
    item: Item, width: int, line_style: LineStyle, now: int, surroundings: Surroundings = ALONE
) -> list[Line]:
    """Return the lines of a row."""
    if isinstance(item, MessageItem):
        return _entry_lines(item, width, line_style, surroundings)
    if isinstance(item, GapItem):
        name = "lost" if item.lost else "gap"
        sign = line_style.glyphs.lost if item.lost else line_style.glyphs.missing
        words = gap_words(item, now, brief=width < _WIDE, glyphs=line_style.glyphs)  # the details say all
        return _own_lines(sign, words, line_style.style(name), item.message_id, width, line_style)
    tone = {Tone.INFO: "note", Tone.ALERT: "alert", Tone.HELP: "help"}[item.tone]
    return _note_lines(item, tone, width, line_style)


def _columns(width: int) -> tuple[bool, int, int]:
    """Return True if the log is wide, the column of the text, and the width of the text."""
    wide = width >= _WIDE
    start = 2 + len(_time(0, width)) + _nick_width(width) + 1
    return wide, start, max(_LEAST_TEXT, min(_MOST_TEXT, width - start - 1))


def text_column(width: int) -> int:
    """Return the number of columns before the text of a message."""
    return _columns(width)[1]


def _time(at: int, width: int) -> str:
    """Return the column of the time, with the space after it."""
    return f"{clock(at, seconds=False)} " if width >= _SMALL else ""


def _nick_width(width: int) -> int:
    return next(nick for columns, nick in _NICKS if width >= columns)


def _entry_lines(entry: MessageItem, width: int, line_style: LineStyle, around: Surroundings) -> list[Line]:
    wide, start, room = _columns(width)
    head = head_line(entry, width, line_style, around)
    below = [head[0], Segment(" " * (start - 2))]
    lines: list[Line] = []
    if entry.quote is not None:
        quoted = fitted(_quote(entry, line_style), room, line_style.glyphs.cut)
        lines.append([*head, *isolated([Segment(quoted, line_style.style("quote"))], LEFT_TO_RIGHT)])
        head = below
    style = line_style.style("mention" if entry.mention else "text")
    if entry.action or not entry.readable:
        style += line_style.style("action")
    right = min(width - 1, start + _MOST_TEXT + _MARKS + line_style.ids * _ID)  # a column is free at the scroll bar
    marks = _marks(entry, wide, line_style, around)
    parts = list(wrapped(entry.text, room))
    left = len(parts) - _FOLDED if len(parts) > _WHOLE else 0
    if (
        not wide
        and entry.doubt is Doubt.NEW_KEY
        and cell_len(entry.text[slice(*parts[-1])]) > right - start - _size(marks)
    ):
        marks = marks[1:]  # the details say it too: not worth a line of a small screen
    if marks and not left and (entry.fate is None or _stays(entry.fate)):
        parts = _beside(entry.text, parts, right - start - _size(marks))
    for low, high in parts[: len(parts) - left]:
        text = _linked(entry.text, low, high, style, line_style)
        lines.append([*head, *isolated([*marked(text, line_style.marked)])])
        head = below
    if left:
        more = f"{left:,}{'+' if len(entry.text) >= TEXT_LIMIT else ''} more lines"
        rest = f"{line_style.glyphs.cut} {more}: Alt+Up selects it, F5 shows all"
        lines.append([*below, Segment(fitted(rest, room, line_style.glyphs.cut), line_style.style("note"))])
    _add_marks(lines, marks, below, right, line_style)
    return lines


def head_line(entry: MessageItem, width: int, line_style: LineStyle, around: Surroundings = ALONE) -> Line:
    """Return the columns before the text of a message: the bar of what is to the user, the time, the nick."""
    bar = line_style.glyphs.mention if entry.mention else " "
    time = _time(entry.at, width)
    return [
        Segment(f"{bar} ", line_style.style("mention" if entry.mention else "text")),
        Segment(" " * len(time) if around.same_minute else time, line_style.style("time")),
        _again(width, line_style) if around.same_author else _nick(entry, width, line_style),
    ]


def _again(width: int, line_style: LineStyle) -> Segment:
    """Return what stands in place of a nick that the message right above has already."""
    return Segment(line_style.glyphs.again.ljust(_nick_width(width) + 1), line_style.style("time"))


def _nick(entry: MessageItem, width: int, line_style: LineStyle) -> Segment:
    nick_width = _nick_width(width)
    nick = entry.nick or f"<{short(entry.sender_id, 8)}>"
    if entry.tag:
        left = nick_width - 2 * entry.action - 2 * entry.verified
        nick = fitted_nick(nick, entry.tag, left, line_style.glyphs.cut).rstrip()
    shown = f"* {nick}" if entry.action else nick
    mark = f"{line_style.glyphs.verified} " if entry.verified else " "
    drawn = Segment(_with_mark(shown, mark, nick_width, line_style), line_style.nick_style(entry.sender_id))
    return isolated([drawn])[0]


def _with_mark(nick: str, mark: str, width: int, line_style: LineStyle) -> str:
    """Return the nick and what stands right behind it, as wide as the column and the space after it."""
    room = width + 1 - len(mark)
    return fitted(fitted(nick, room, line_style.glyphs.cut).rstrip() + mark, width + 1, line_style.glyphs.cut)


def _quote(entry: MessageItem, line_style: LineStyle) -> str:
    quote = entry.quote
    assert quote is not None
    if not quote.nick:
        return f"{line_style.glyphs.reply} answers {short(quote.message_id)}, which is not here"
    return f"{line_style.glyphs.reply} {quote.nick}: {quote.text}"


def isolated(text: Line, opening: str = ISOLATE) -> Line:
    """Return a text so that a terminal that draws some of it from right to left leaves what is beside it in place. The
    text goes as its first letter does; with `LEFT_TO_RIGHT` its parts stay in order, whichever way one of them goes."""
    if not any(goes_left(segment.text) for segment in text):
        return text
    if not goes_left(_ISOLATED.sub("", "".join(segment.text for segment in text))):
        return text  # whatever goes left is isolated already
    text = [*text]
    text[0] = Segment(opening + text[0].text, text[0].style)
    text[-1] = Segment(text[-1].text + END_OF_ISOLATE, text[-1].style)
    return text


def _linked(text: str, low: int, high: int, style: Style, line_style: LineStyle) -> Line:
    """Return one line of a text, with the parts of links that lie in it marked."""
    if "://" not in text:
        return [Segment(text[low:high], style)]
    found: Line = []
    at = low
    for start, end in link_spans(text):
        if start < high and end > at:
            found.append(Segment(text[at : max(at, start)], style))
            link = Style(link=text[start:end]) if line_style.links else _NOTHING
            found.append(Segment(text[max(at, start) : min(end, high)], style + line_style.style("link") + link))
            at = min(end, high)
    found.append(Segment(text[at:high], style))
    return [segment for segment in found if segment.text]


def _marks(entry: MessageItem, wide: bool, line_style: LineStyle, around: Surroundings) -> list[Line]:
    """Return the marks at the right of a message: remark, late, state, id."""
    marks: list[Line] = []
    if entry.remark:
        marks.append([Segment(entry.remark, line_style.style(_DOUBTS.get(entry.doubt, "time")))])
    if entry.late:
        marks.append([Segment("late", line_style.style("late"))])
    if entry.fate is not None:
        waits_for_nobody = around.only_member and entry.fate.phase is Phase.UNACKED
        only = [Segment("no other member", line_style.style("time"))]
        marks.append(only if waits_for_nobody else tick(entry.fate, around.present, line_style))
    if wide and line_style.ids:
        marks.append([Segment(short(entry.message_id), line_style.style("id"))])
    return marks


def _stays(fate: Fate) -> bool:
    """True if a tick will hardly be drawn in another size: a text beside one that lives would move each time."""
    return fate.full or bool(fate.word) or fate.past


def _size(marks: list[Line]) -> int:
    """Return the columns of marks, with two spaces before each."""
    return sum(2 + sum(segment.cell_length for segment in mark) for mark in marks)


def _beside(text: str, parts: list[tuple[int, int]], room: int) -> list[tuple[int, int]]:
    """Return the lines of a text, the last one broken before a word where marks need more room beside it than there is:
    else they would stand in a line alone."""
    low, high = parts[-1]
    if cell_len(text[low:high]) <= room:
        return parts
    again = wrapped(text[low:high], room)
    if len(again) == 2 and again[0][1] < again[1][0]:
        return [*parts[:-1], *((low + start, low + end) for start, end in again)]
    return parts


def _add_marks(lines: list[Line], marks: list[Line], below: Line, width: int, line_style: LineStyle) -> None:
    """Add the marks at the right end of the last line, or of one more line if there is no room."""
    if not marks:
        return
    joined: Line = []
    for mark in marks:
        joined += [Segment("  "), *mark]
    size = sum(segment.cell_length for segment in joined)
    used = sum(segment.cell_length for segment in lines[-1])
    if used + size > width:
        lines.append([*below])
        used = sum(segment.cell_length for segment in below)
        joined = joined[1:] if used + size > width else joined
        size = sum(segment.cell_length for segment in joined)
    lines[-1] += [Segment(" " * max(0, width - used - size)), *joined]


def _own_lines(sign: str, text: str, style: Style, message_id: str, width: int, line_style: LineStyle) -> list[Line]:
    """Return lines of the program: each has the sign in the gutter, where no message can draw anything."""
    wide, _, _ = _columns(width)
    tag = short(message_id) if wide and line_style.ids and message_id else ""
    room = max(_LEAST_TEXT, width - 3 - (len(tag) + 2 if tag else 0))
    lines: list[Line] = []
    for line in text.split("\n"):
        column = FIRST_COLUMN.match(line)
        for number, broken in enumerate(hanging(line, room)):
            part = broken.replace(NO_BREAK, " ")
            low, high = column.span(2) if column is not None and not number else (0, 0)
            marked_part = Segment(part[low:high], line_style.style("key"))
            drawn = [Segment(part[:low], style), marked_part, Segment(part[high:], style)]
            quiet = line_style.style("time") if lines else style  # the first one says it
            parts = [segment for segment in drawn if segment.text]
            lines.append([Segment(f"{sign} ", quiet), *isolated(parts, LEFT_TO_RIGHT)])
    if tag:
        _add_marks(lines, [[Segment(tag, line_style.style("id"))]], [Segment("  ")], width, line_style)
    return lines


def hanging(line: str, room: int) -> Iterator[str]:
    """Break a line; the rest stands further in, so that nothing of it looks like the beginning of a line. In a table
    it goes on below the column that is broken, or the last one before it that leaves half of the room."""
    (low, high), *more = wrapped(line, room)
    yield closed(line[low:high])
    if more:
        begins = len(line) - len(line.lstrip())
        columns = [cell_len(line[: each.end()]) for each in _COLUMN.finditer(line, 0, high)]
        further = begins + _FURTHER_IN * (not begins or bool(columns))
        indent = max((column for column in columns if column <= room // 2), default=further)
        for low, high in wrapped(rest := line[more[0][0] :], room - indent):
            yield " " * indent + closed(rest[low:high])


def _note_lines(note: NoteItem, tone: str, width: int, line_style: LineStyle) -> list[Line]:
    sign = line_style.glyphs.alert if note.tone is Tone.ALERT else line_style.glyphs.system
    text = note.text if note.tone is Tone.HELP else f"{clock(note.at, seconds=False)} {note.text}"
    text = text.replace(PART, f" {line_style.glyphs.between} ")
    return _own_lines(sign, text, line_style.style(tone), "", width, line_style)


def day_line(at: int, width: int, line_style: LineStyle) -> Line:
    return _rule(day(at), width, line_style, "day")


def unread_line(width: int, line_style: LineStyle) -> Line:
    return _rule("new", width, line_style, "new")


def _rule(word: str, width: int, line_style: LineStyle, name: str) -> Line:
    """Return a line across the log with a word in its middle."""
    rule, room = line_style.glyphs.rule, max(0, width - len(word) - 2)
    text = f"{rule * (room // 2)} {word} {rule * (room - room // 2)}"
    return [Segment(text, line_style.style(name))]
