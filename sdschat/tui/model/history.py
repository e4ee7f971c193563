"""Words about history from before this node joined: being fetched, paused, or not fetched."""

from __future__ import annotations

from typing import Final

from sdschat.node.sync.events import CatchingUp
from sdschat.tui.model.cleaning import nick_text, short
from sdschat.tui.model.items import NoteItem, Tone
from sdschat.tui.model.words import clock, day

EMPTY: Final = "no messages here yet | what you write goes out with Enter | F1 help"
_TOP: Final = (0, "")  # a key before that of every message


def badge(history: CatchingUp | None) -> str:
    """Return the words for the channel list; empty if nothing is being fetched."""
    if history is None or history.state not in ("loading", "paused"):
        return ""
    done = f" {history.done}/{history.total}" if history.total else ""
    return f"{history.state}{done}"


def sentence(history: CatchingUp | None, since: int) -> str:
    """Return the line above the first message; empty if the log is complete."""
    if history is not None and history.state == "loading":
        who = nick_text(history.nick) or f"<{short(history.source, 8)}>"
        return f"loading what was said before, from {who}: {history.done} of {history.total} | /load pause"
    if history is not None and history.state == "paused":
        done = f" at {history.done} of {history.total}" if history.total else ""
        return f"what was said before is not loaded any further, paused{done} | /load resume"
    if since:
        return f"what was said before {clock(since)} on {day(since)} was not fetched | /load fetches it"
    return ""


def mark(text: str, at: int) -> NoteItem:
    """Return the row above the first message, with this date."""
    return NoteItem(text, Tone.HELP, at, _TOP, 0)
