"""Lines of the plain mode: messages as text, broken at words to the width of a terminal, and lines that are typed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TextIO

from rich.cells import cell_len

from sdschat.node.events import ConnectionChanged
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import Fate, MessageItem, Phase
from sdschat.tui.model.line_input import NOT_TYPED
from sdschat.tui.model.status import ON_PURPOSE
from sdschat.tui.model.words import ASCII, apart, clean, clock, duration, short, speaker, wrapped
from sdschat.tui.row_lines import fate_words

_DETAIL: Final = 300
_CLOSED: Final = "closed"  # the `transport.base.Why` of a connection that this program closed, to leave
_FOLLOWED: Final = 1000  # own messages whose states are told
_BEGINNING: Final = 40  # letters of a message that tell it from others


def entry_line(entry: MessageItem, model: ChannelModel, label: str, *, with_id: bool) -> str:
    """Return a message as lines of text. `label`: its channel, if that must be named; else empty. `with_id`: so that
    commands can name it."""
    who = speaker(model.name_of(entry.sender_id, entry.nick))
    name = short(entry.message_id) if with_id else ""
    to_user = "to you" if entry.mention and not entry.own else ""
    marks = [mark for mark in (name, to_user, entry.remark, "late" if entry.late else "") if mark]
    if entry.quote is not None:
        marks.append(f"answers {apart(entry.quote.nick or short(entry.quote.message_id))}")
    fate, is_cut = entry.fate, model.connection.state != "connected"
    if fate is not None and fate.phase is Phase.QUEUED and (is_cut or fate.word):
        marks.append("queued")
    elif fate is not None and fate.word and fate.phase < Phase.MAYBE and is_cut:
        marks.append(fate.word)  # in a members' channel: it is written here alone
    noted = f" ({', '.join(marks)})" if marks else ""
    place = f"[{label}] " if label else ""
    text = below("\n".join(map(apart, entry.text.split("\n"))))
    said = f"{who} {text}" if entry.action else f"{who}{noted}: {text}"
    return f"{clock(entry.at)} {place}{'* ' if entry.action else ''}{said}{noted if entry.action else ''}"


def below(text: str) -> str:
    """Return a text with its further lines set in: none of them looks like a line of the program or a message."""
    return text.replace("\n", "\n    ")


def beginning(text: str) -> str:
    """Return the first words of a text: they say to whoever listens which message is meant."""
    words = " ".join(text.split())
    return words if len(words) <= _BEGINNING else f"{words[:_BEGINNING].rpartition(' ')[0] or words[:_BEGINNING]} ..."


class ConnectionLines:
    """The lines about the connection. All channels are on one broker, so each change is one line for all of them."""

    def __init__(self) -> None:
        self._reason = ""  # of the cut that was told and is not over
        self._since = 0  # the time of it
        self._begun = False  # how the first connection goes was told

    def line(self, connection: ConnectionChanged, at: int) -> str:
        """Return the line for a change, in sentences to be read out; empty for what was told already."""
        match connection.state:
            case "connecting" if not self._begun:
                self._begun = True
                return f"connecting to {clean(connection.address, limit=_DETAIL)}. What you write is kept until then."
            case "connected" if self._reason:
                self._reason = ""
                return f"connected, after {duration(at - self._since)} offline"
            case "connected" if not self._since:
                self._since = at
                return "connected"
            case "disconnected" if connection.why != _CLOSED:
                return self._cut(connection, at)
        return ""

    def _cut(self, connection: ConnectionChanged, at: int) -> str:
        on_purpose = connection.why == ON_PURPOSE
        detail = clean(connection.detail or connection.why or "not connected", limit=_DETAIL)
        reason = "on purpose" if on_purpose else detail.rstrip(".")
        if reason == self._reason:
            return ""
        goes_on, self._reason = bool(self._reason), reason
        self._since = self._since if goes_on else at
        end = "" if reason.endswith("?") else "."
        if on_purpose:
            return f"offline {reason}. What you write is kept. /fault online connects again."
        if goes_on:
            return f"still offline: {reason}{end}"
        again = "It is tried again by itself; /reconnect tries now."
        if not connection.retry_at:
            again = "It is not tried again by itself: /reconnect tries."
        return f"offline: {reason}{end} What you write is kept. {again}"


class StateLines:
    """The words about own messages: one for each step of their way, and one more when everybody here has them."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[Phase, bool]] = {}  # by message id; the bool: everybody here has it

    def words(self, message_id: str, fate: Fate, present: tuple[str, ...]) -> str:
        """Return the words for the state of a message; empty where they were said, or are not worth a line."""
        by_all = not fate.word and fate.among(present).full
        step, before = (fate.phase, by_all), self._told.pop(message_id, None)
        self._told[message_id] = step if before is None else max(step, before)
        if len(self._told) > _FOLLOWED:
            del self._told[next(iter(self._told))]
        if fate.phase < Phase.MAYBE or (before is not None and step <= before):
            return ""
        words = fate_words(fate, ASCII)[0].partition(" ")[2]
        return f"{words}, by everybody here" if by_all and len(present) > 1 else words


INDENT: Final = "    "  # before what goes on: it is like no line of the program, and like no message
_LEAST: Final = 20  # columns below which nothing is broken here
_WORD: Final = re.compile(r"\s*\S+")


def width_of(out: TextIO) -> int | None:
    """Return the columns of the terminal that this is; None for anything else."""
    try:
        columns = os.get_terminal_size(out.fileno()).columns
    except (OSError, ValueError):  # a pipe, a file or a text in memory
        return None
    return columns if columns >= _LEAST else None


def folded(text: str, width: int | None) -> str:
    """Return lines that are no wider than this. A longer word is left to the terminal if it cannot look like a line of
    the program: the parts of a link would open nothing."""
    if width is None:
        return text
    found = []
    for line in text.split("\n"):
        lead = INDENT if line.startswith(INDENT) else ""
        body = line[len(lead) :]
        pieces = [line] if cell_len(line) <= width else [*_pieces(body, width - len(lead), width - len(INDENT))]
        found += pieces[:1] if pieces[:1] == [line] else [lead + pieces[0], *(INDENT + piece for piece in pieces[1:])]
    return "\n".join(found)


def _pieces(text: str, first: int, room: int) -> Iterator[str]:
    """Yield the pieces of a line: of the width `first` the first one, of `room` the others."""
    piece, width = "", first
    for word in _WORD.findall(text) or [""]:
        if piece and cell_len(piece) + cell_len(word) > width:
            yield piece
            piece, width, word = "", room, word.lstrip()
        if cell_len(word) > width and not word.isascii():
            *whole, word = (word[low:high] for low, high in wrapped(word, min(first, room)))
            yield from whole
            width = room
        piece += word
    yield piece


ESCAPE: Final = "\x1b"
PASTE, PASTE_END = "\x1b[200~", "\x1b[201~"  # what a terminal sends before and after a text that is pasted
# Of a key with a name: ESC [ parameters letter, or ESC O letter; a second escape before it is Alt.
KEY: Final = re.compile(r"\x1b*(?:\x1b\[|\x9b)(?:\[[A-E]|[0-?]*[ -/]*[@-~])|\x1b*\x1bO[ -~]")
_ALT_ALONE: Final = re.compile(r"\s*(?:\x1b+[^\x1b\s]?\s*)+")  # a line of nothing but Esc, or Alt and a letter


class TypedLine(NamedTuple):
    """A line as it was meant. `keys`: there was a key in it, and nothing else. `goes_on`: Alt+Enter ended it.

    `pasted`: nothing is sent yet, and so many lines were pasted at once.
    """

    text: str
    keys: bool = False
    goes_on: bool = False
    pasted: int = 0


def typed_line(line: str) -> TypedLine:
    """Return what was typed. Named keys are dropped whole; other control characters, and a lone escape, alone."""
    written = line.rstrip("\r\n")
    goes_on = written.endswith(ESCAPE)
    bare = KEY.sub("", written.removesuffix(ESCAPE) if goes_on else written)
    text = "" if _ALT_ALONE.fullmatch(bare) else "".join(filter(is_text, bare))
    keys = not text.strip() and any(not is_text(letter) for letter in written)
    return TypedLine(text, keys, goes_on and bool(text.strip()))


def pasted_text(text: str) -> str:
    """Return a text that was pasted, with its line ends but the last ones, and without keys and control characters."""
    whole = KEY.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter for letter in whole if letter == "\n" or is_text(letter)).rstrip("\n")


def is_text(letter: str) -> bool:
    """True for a letter of a text; false for a control character, also one that turns the direction of writing."""
    return letter not in "\r\n" and NOT_TYPED.match(letter) is None
