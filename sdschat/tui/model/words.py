"""Words and signs of the screen, short enough for a line of a chat, and their breaking into lines of cells.

Names and ids, times and durations, states. All texts of others go through `clean` and `clean_name`. Points in time are
also read, as people write them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Final, NamedTuple

from rich.cells import cell_len, split_graphemes

from sdschat.node.view.values import before_text, harmless

TEXT_LIMIT: Final = 16_384  # characters of a message that are drawn; all of them are kept, searched and copied
NAME_LIMIT: Final = 40
HIT: Final = "hit"  # begins the line about a hit of a search
_ID_SHOWN: Final = 4
_REASON: Final = 400
_SECOND: Final = 1000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def clean(text: str, *, limit: int = TEXT_LIMIT, lines: bool = False) -> str:
    """Return at most `limit` characters of a text, safe to draw. It must not be read as markup."""
    found, cut = harmless(text, limit=limit, lines=lines), _cut_sign.get()
    if cut != UNICODE.cut and found.endswith(UNICODE.cut) and found != harmless(text, limit=limit + 1, lines=lines):
        return found[:-1] + cut
    return found


@contextmanager
def cutting_with(sign: str) -> Iterator[None]:
    """Let texts that are cut in here end with this sign, where no other one is asked for."""
    token = _cut_sign.set(sign)
    try:
        yield
    finally:
        _cut_sign.reset(token)


def cut_with(sign: str) -> None:
    """Let texts that are cut from now on end with this sign, where no other one is asked for."""
    _cut_sign.set(sign)


def clean_name(name: str, *, limit: int = NAME_LIMIT) -> str:
    """Return a nick or a channel name, safe to draw: on one line, without runs of spaces, and without the selector by
    which two names would differ in nothing but colour."""
    return " ".join(clean(name, limit=limit).replace("\ufe0f", "").split())


def nick_text(nick: str) -> str:
    """Return a nick that is safe to draw, on one line."""
    return clean_name(nick)


def whole_nick(nick: str) -> str:
    """Return a nick as `nick_text` does, and not cut: to be written into the input."""
    return clean_name(nick, limit=TEXT_LIMIT)


def tagged_nick(nick: str, tag: str) -> str:
    """Return a nick with what tells its key from another one of that nick, if there is such a tag."""
    return f"{nick} {clean_name(tag)}" if tag else nick


def reason_text(error: Exception) -> str:
    """Return the text of an error, safe to draw: it may contain texts of others, such as nicks."""
    return clean(str(error), limit=_REASON)


def short(message_id: str, letters: int = _ID_SHOWN) -> str:
    """Return the first letters of an id, safe to draw: ids are chosen by others too."""
    return clean_name(message_id[:letters])


def local(milliseconds: int) -> datetime:
    """Return local time; a time outside the calendar becomes its first or last moment."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000)
    except (ValueError, OverflowError, OSError):
        return datetime.max if milliseconds > 0 else datetime.min


def clock(milliseconds: int, seconds: bool = True) -> str:
    return local(milliseconds).strftime("%H:%M:%S" if seconds else "%H:%M")


def day(milliseconds: int) -> str:
    """Return a date as Thu 20 Nov 2025, in any locale: the rest of the interface is English too."""
    moment = local(milliseconds)
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    return f"{names[moment.weekday()]} {moment.day} {months[moment.month - 1]} {moment.year}"


def day_number(milliseconds: int) -> int:
    return local(milliseconds).toordinal()


def when(milliseconds: int, now: int) -> str:
    """Return the time of a message in a list: of today without the date."""
    same_day = day_number(milliseconds) == day_number(now)
    return clock(milliseconds) if same_day else f"{day(milliseconds)} {clock(milliseconds)}"


def stamp(milliseconds: int) -> str:
    """Return date and time in full, with the time zone."""
    moment = local(milliseconds)
    try:
        return moment.astimezone().isoformat(sep=" ", timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"@{milliseconds}"


def day_and_time(milliseconds: int) -> str:
    """Return a date as people read it, with time and zone: Tue 24 Nov 2026 05:49:10 +01:00."""
    return f"{day(milliseconds)} {clock(milliseconds)} {stamp(milliseconds)[-6:]}"


def duration(milliseconds: int) -> str:
    """Return a duration as 41s, 3m, 2h or 5d, in the largest unit that fits once."""
    size = max(0, milliseconds)
    for unit, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if size >= unit:
            return f"{size // unit}{letter}"
    return f"{size // _SECOND}s"


def ago(milliseconds: int) -> str:
    """Return how long since something is, as "3s ago", or "just now"."""
    return f"{duration(milliseconds)} ago" if milliseconds >= _SECOND else "just now"


def soon(milliseconds: int) -> str:
    """Return when something is expected, as "in about 3s", or "within a second"."""
    return f"in about {duration(milliseconds)}" if milliseconds >= _SECOND else "within a second"


def countdown(milliseconds: int) -> str:
    """Return the time left as 00:12. It is 00:00 only when the time has come."""
    seconds = max(0, -(-milliseconds // _SECOND))
    return f"{seconds // 60:02d}:{seconds % 60:02d}" if seconds < 3600 else duration(milliseconds)


def count(number: int, thing: str, things: str = "") -> str:
    """Return a count as 1 message or 2 messages."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def times(number: int) -> str:
    """Return how often something was done, as once or 2 times."""
    return "once" if number == 1 else f"{number} times"


def listed(names: list[str], most: int = 3) -> str:
    """Return names as "bob, carol and 2 more"."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def over_limit_words(messages: int, name: str, key: str) -> str:
    """Return the line for messages of a sender that exceed the limit. `key`: the beginning of the sender id."""
    if not messages:
        return f"nothing of {name} is over the limit any more: all of it is here"
    what = f"{count(messages, 'message')} of {name} over the limit: only their ids are kept"
    return f"{what} | /show {key} | /mute {key} | /ignore {key}" if key else what


def before_join_words(messages: int, name: str) -> str:
    """Return the line for messages of a sender that are older than our joining, and so not given."""
    return f"{count(messages, 'message')} of {name} from before you joined: this channel gives nothing older"


def strangers_words(keys: int, messages: int) -> str:
    """Return the line for new keys that wait until they are opened."""
    return f"{count(keys, 'sender')} more, with {count(messages, 'message')}, not shown: too many at once | /strangers"


def bodies_words(fetched: int, left: int) -> str:
    """Return the line that ends the fetching of texts that were kept as ids."""
    if not left:
        return f"{count(fetched, 'text')} fetched"
    return f"{count(fetched, 'text')} fetched; nobody here has the other {left}"


def own_over_limit_words(messages: int) -> str:
    """Return the line for own messages that exceed what others keep."""
    return f"you say more in a minute than others keep: of {count(messages, 'message')} they have only ids"


def author_gap_words(name: str, low: int, high: int) -> str:
    """Return the sentence on messages of an author that are missing by their numbers."""
    which = f"{ordinal(low)} message" if low == high else f"{ordinal(low)} to {ordinal(high)} messages"
    return f"{name}'s {which} here {'is' if low == high else 'are'} missing, by the author's own count"


class Glyphs(NamedTuple):
    """One set of signs that stand for states, each with its word: no sign is ever the only one to say something.

    All of them are one cell wide (East Asian width Neutral, box drawing, a circle or dots, which take two cells only
    where a terminal is told to draw ambiguous characters wide: `--ascii` is for those). No two states differ by a tick.
    """

    queued: str
    unacked: str
    maybe: str  # also in a cell: who perhaps has a message
    acked: str
    refused: str
    missing: str
    lost: str
    system: str  # in the gutter: only lines of the program have it
    alert: str  # in the gutter: a line of the program that wants attention
    chosen: str  # in the gutter: the selected message
    mention: str  # in the gutter: a message to the user
    online: str
    offline: str
    reply: str
    rule: str  # day lines and the like are made of it
    between: str  # stands between two parts of a line
    cut: str  # stands for what did not fit
    full: str  # what a bar is filled with
    empty: str  # and the rest of it
    verified: str  # behind the nick of somebody with whom the user compared words
    known: str  # in a cell: who is known to have a message
    unproven: str  # in a cell: who says so without a signature
    nothing: str  # in a cell: who told nothing of it yet
    away: str  # likewise, of somebody who is not here any more
    back: str  # beside a title: others are before it
    further: str  # or after it
    again: str  # in place of a nick that the message right above has already


UNICODE: Final = Glyphs._make("⋯⇡◐✓✗⇣∅»‼›┃▪▫↳─⋅…▰▱≗●◌○▫‹›⋅")  # noqa: RUF001
_cut_sign: Final = ContextVar("cut_sign", default=UNICODE.cut)
ASCII: Final = Glyphs._make('.>?+!<0#!>@*-^-|~#.=+~-_<>"')


def bar(share: float, width: int, glyphs: Glyphs) -> str:
    """Return a bar of `width` characters, filled for this share."""
    filled = round(max(0.0, min(1.0, share)) * width)
    return glyphs.full * filled + glyphs.empty * (width - filled)


_RIGHT_TO_LEFT: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
ISOLATE, LEFT_TO_RIGHT, END_OF_ISOLATE = "\u2068", "\u2066", "\u2069"  # the second one for lines of our own words
ISOLATES: Final = re.compile(f"[{ISOLATE}{LEFT_TO_RIGHT}{END_OF_ISOLATE}]")
NO_BREAK: Final = "\u00a0"  # a space at which no line ends
_SPACE: Final = rf"[^\S{NO_BREAK}]"
_WORD: Final = re.compile(rf"[\S{NO_BREAK}]+{_SPACE}*|{_SPACE}+")


def wrapped(text: str, width: int) -> list[tuple[int, int]]:
    """Return start and end of each line. A word longer than a line is cut; spaces at a break are left out."""
    width = max(1, width)
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        found += ((start + low, start + high) for low, high in _line(line, width))
        start += len(line) + 1
    return found


def _line(line: str, width: int) -> Iterator[tuple[int, int]]:
    if len(line) <= width and (line.isascii() or cell_len(line) <= width):
        yield 0, len(line)
        return
    low = high = used = 0
    for word in _WORD.finditer(line):
        body = word.group().rstrip()
        size = cell_len(body)
        if used and used + size > width:
            yield low, low + len(line[low:high].rstrip())
            low, used = word.start(), 0
        if size > width:
            low, used = yield from _cut(line, low, word.start(), word.start() + len(body), used, width)
        else:
            used += size
        high = word.end()
        used += len(word.group()) - len(body)
    yield low, max(low, low + len(line[low:high].rstrip()))


def _cut(
    line: str, low: int, at: int, end: int, used: int, width: int
) -> Generator[tuple[int, int], None, tuple[int, int]]:
    """Yield full lines of a word wider than a line, with every emoji whole. Return start and width of its rest."""
    spans, _ = split_graphemes(line[at:end])
    for first, _, size in spans:
        if used + size > width and at + first > low:
            yield low, at + first
            low, used = at + first, 0
        used += size
    return low, used


def goes_left(text: str) -> bool:
    """True if a terminal may draw some of the text from right to left, and with it what stands beside the text. Then
    the text must stand between `ISOLATE` and `END_OF_ISOLATE`, which take no room."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def apart(text: str) -> str:
    """Return a text that leaves what stands beside it in place, whichever way it goes."""
    return f"{ISOLATE}{text}{END_OF_ISOLATE}" if goes_left(text) else text


def speaker(name: str) -> str:
    """Return a name to stand before a text, so that the text does not seem to begin within it."""
    return before_text(apart(name))


def closed(text: str) -> str:
    """Return a part of a text with every isolate whole that the cut at its beginning or end has broken."""
    ends = opens = 0
    for letter in text if not text.isascii() else "":
        if letter == ISOLATE:
            opens += 1
        elif letter == END_OF_ISOLATE:
            ends, opens = (ends, opens - 1) if opens else (ends + 1, opens)
    return f"{ISOLATE * ends}{text}{END_OF_ISOLATE * opens}"


def fitted(text: str, width: int, cut: str = "") -> str:
    """Return the text, cut or filled with spaces to exactly this width in cells."""
    size = cell_len(text)
    if size > width:
        text = text[: width - 1] if text.isascii() else closed(_shortened(text, width - 1))
        text += cut or _cut_sign.get()
        size = cell_len(text)
    return text + " " * (width - size)


def fitted_nick(nick: str, tag: str, width: int, cut: str) -> str:
    """Return a nick as `fitted` does; its tag is there whole."""
    if not tag:
        return fitted(nick, width, cut)
    return fitted(f"{fitted(nick, max(1, width - len(tag) - 1), cut).rstrip()} {tag}", width, cut)


def whole_parts(text: str, width: int) -> str:
    """Return as many of the parts, which commas separate, as fit into this width; the first in any case."""
    while cell_len(text) > width and ", " in text:
        text = text.rpartition(", ")[0]
    return text


def _shortened(text: str, width: int) -> str:
    used = 0
    spans, _ = split_graphemes(text)
    for first, _, size in spans:
        used += size
        if used > width:
            return text[:first]
    return text


def key_words(keys: str) -> str:
    """Return keys as they stand on a keyboard: Alt+Up."""
    return ", ".join("+".join(part.capitalize() for part in key.split("+")) for key in keys.split(","))


# Symbols of several characters. Terminals do not agree on their cells: a heart with U+FE0F has one in some and two in
# others, a family two or six. Where another number was counted, all that stands behind it in the line would move.
_SYMBOL: Final = "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
_TONE: Final = "[\U0001f3fb-\U0001f3ff]"
_WHOLE: Final = f"{_SYMBOL}\ufe0f?{_TONE}?"
_SYMBOLS: Final = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3"  # flags, keycaps
    f"|{_WHOLE}(?:\u200d{_WHOLE})+|{_SYMBOL}(?:\ufe0f{_TONE}?|{_TONE})"
    "|[\U0001fa70-\U0001faff]"  # of the last years: a terminal may not know them
)


def in_their_cells(data: str) -> str:
    """Return output in which what follows such a symbol stands where it was counted to, whatever the terminal draws:
    the cells are cleared, the symbol is drawn, and the cursor goes on from before it by as many cells as were
    counted."""
    return data if data.isascii() else _SYMBOLS.sub(_in_its_cells, data)


def _in_its_cells(found: re.Match[str]) -> str:
    cells = cell_len(found[0])
    return f"\x1b7{' ' * cells}\x1b8\x1b7{found[0]}\x1b8\x1b[{cells}C"
