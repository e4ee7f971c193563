"""The input of a view of the Lens, and the lines that it returns: pieces of text with the name of a style each.

Views are pure: the same input gives the same lines. The theme turns the names of styles into colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from rich.cells import cell_len

from sdschat.node.view.engine_snapshot import Peek
from sdschat.node.view.members import MembersPeek, PostJourney
from sdschat.node.view.values import OwnFate, Participant, Shown
from sdschat.tui.lens.trace import LensTrace
from sdschat.tui.model.words import UNICODE, Glyphs, apart, clean, closed, fitted, nick_text, short, wrapped

LOST: Final = (
    "Given up, and not asked for any more. If somebody who has it is here later, it is sent and takes its place; there "
    "is nothing to do by hand."
)
_FURTHER_IN: Final = 2
Span = tuple[str, str]  # the text, and the name of its style; empty: the style of ordinary text
Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    return tuple((part, "") if isinstance(part, str) else part for part in parts)


def plain(shown: Line) -> str:
    return "".join(text for text, _ in shown)


def heading(text: str) -> Line:
    return ((text, "heading"),)


def paragraph(text: str, width: int, style: str = "note", indent: int = 0) -> list[Line]:
    """Return a text, broken into as many lines as it needs."""
    lead = " " * indent
    return [((lead + closed(text[low:high]), style),) for low, high in wrapped(text, max(8, width - indent))]


def folded(shown: Line, width: int) -> Iterator[Line]:
    """Yield a line that is no wider than this; the rest of it below, where its last column begins if that is not far
    to the right."""
    text = plain(shown)
    if cell_len(text) <= width:
        yield shown
        return
    (low, high), *more = wrapped(text, width)
    yield _cut_out(shown, low, high)
    if not more:  # only spaces were too many
        return
    lead = len(text) - len(shown[-1][0])
    indent = lead if lead <= width // 2 else _FURTHER_IN
    rest = more[0][0]
    for low, high in wrapped(text[rest:], width - indent):
        yield ((" " * indent, ""), *_cut_out(shown, rest + low, rest + high))


def _cut_out(shown: Line, low: int, high: int) -> Line:
    """Return the letters of a line between two places, with their styles."""
    found: list[Span] = []
    at = 0
    for text, style in shown:
        piece = text[max(0, low - at) : max(0, high - at)]
        if piece:
            found.append((closed(piece), style))
        at += len(text)
    return tuple(found)


def columns(widths: tuple[int, ...], *cells: str | Span) -> Line:
    """Return a line of cells, each cut or filled to its width; one cell more than widths takes the rest."""
    found: list[Span] = []
    for place, cell in enumerate(cells):
        text, style = (cell, "") if isinstance(cell, str) else cell
        found.append((f"{fitted(text, widths[place])} " if place < len(widths) else text, style))
    return tuple(found)


def seconds(milliseconds: int) -> str:
    """Return a duration as 0.3 s, 30 s or 2 m."""
    if milliseconds >= 120_000:
        return f"{milliseconds / 60_000:.3g} m"
    return f"{max(0, milliseconds) / 1000:.3g} s"


VIEW_NAMES: Final = (
    "why",
    "repair",
    "packet",
    "graph",
    "matrix",
    "filter",
    "peers",
    "events",
    "faults",
    "tree",
    "clock",
    "checkpoint",
    "committee",
)
_OF_A_MESSAGE: Final = ("why", "packet", "graph", "matrix", "filter")  # views of one message or packet


def names_message(view: str, argument: str) -> bool:
    """True if the argument of a view names a message; a short number names a packet of the list."""
    number = view == "packet" and argument.isascii() and argument.isdigit() and len(argument) < 4
    return bool(argument) and view in _OF_A_MESSAGE and not number


class ViewInput(NamedTuple):
    """The state of a channel at one moment, and the request of the user."""

    peek: Peek
    trace: LensTrace
    nick_of: Callable[[str], str]  # by sender id; empty if no key proved a nick
    message: Callable[[str], Shown | None]  # a message of the log, by id
    fate: Callable[[str], OwnFate | None]  # the state of an own message, by id
    raw: Callable[[str], bytes | None]  # the packet of a message, by id
    selection: str | None = None
    argument: str = ""  # the text typed after the name of the view
    width: int = 60
    glyphs: Glyphs = UNICODE
    faults: str = ""
    members: MembersPeek | None = None  # of a members' channel
    carried: tuple[str, ...] = ()  # effects of the faults so far, in words
    people: Callable[[], list[Participant]] = list  # everybody who is here or was heard
    only_member: bool = False  # of a private channel
    journey: Callable[[str], PostJourney] | None = None  # of an own post of a members' channel, by id

    def who(self, sender_id: str | None) -> str:
        """Return the name of a participant as views show it: "you", the nick, or the beginning of the id."""
        if not sender_id:
            return "?"
        if sender_id == self.peek.me:
            return "you"
        return apart(nick_text(self.nick_of(sender_id))) or f"<{short(sender_id, 8)}>"

    def packet(self, packet_id: str) -> str:
        """Return the short name of a packet: the message's id, or the id of its own that a sync message has."""
        return clean(packet_id[:9] if packet_id.startswith("sync-") else packet_id[:4], limit=16)

    def text_of(self, message_id: str, limit: int = 40) -> str:
        """Return the beginning of a message's text; empty if the message is not in the log."""
        shown = self.message(message_id)
        if shown is None:
            return ""
        return apart(clean(" ".join((shown.text or "")[: 2 * limit].split()), limit=limit))
