"""Words about history from before this node joined: being fetched, paused, or not fetched."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import Final

from sdschat.node.events import CatchingUp
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import has_members, standing_words
from sdschat.node.view.private import is_private, join_command
from sdschat.node.view.values import Conversation
from sdschat.tui.model.items import NoteItem, Tone
from sdschat.tui.model.timeline import Timeline
from sdschat.tui.model.words import clean, clock, day, nick_text, short

_ID: Final = 8
_EMPTY: Final = "no message is here yet"
_NO_POSTS: Final = "there is no post here now"  # also after the last one was deleted
_HIDDEN: Final = "there is nothing to read here, of those who are not muted or ignored"
_RECORDED: Final = "nobody has written anything yet, at this moment of the recording"
_OUTSIDE: Final = "what was written here is shown once a member lets you in"
_WRITE: Final = "a line, and Enter sends it"
_KEYS: Final = "F1 help, Esc one step back, Ctrl+C twice leaves"
_NEAR: Final = " (on this machine; from another one: /help invite)"
_LABEL: Final = 11  # columns of what a line of the first screen is about
_TOP: Final = (0, "")  # a key before that of every message


def beginning(view: Conversations, channel: str, conversation: Conversation) -> str:
    """Return the lines of an empty channel: how to write, who one is, how others join, and three keys."""
    if view.recorded:
        return _RECORDED
    node, outside = view.node, standing_words(view.node, channel)
    lines = {} if outside else {"write": _WRITE}
    if not conversation.peer:
        lines["you"] = f"{nick_text(node.nick)}, with the key {short(node.sender_id, _ID)}; /nick changes the name"
        lines["others join"] = _way_in(view, channel)
        if has_members(node, channel) and not outside:
            lines["let them in"] = "each of them knocks: /invite NICK"
    lines["keys"] = _KEYS
    return "\n".join(
        (
            _OUTSIDE if outside else _nothing(view, channel, conversation),
            *(f"  {label:<{_LABEL}}  {said}" for label, said in lines.items()),
        )
    )


def _nothing(view: Conversations, channel: str, conversation: Conversation) -> str:
    """Return why nothing is shown, as far as that is known."""
    if has_members(view.node, channel):
        return _NO_POSTS
    return _HIDDEN if any(person.hidden for person in conversation.people()) else _EMPTY


def _way_in(view: Conversations, channel: str) -> str:
    if is_private(view.node, channel):
        return "by a link: /invite makes one"
    if view.guest:
        return f"by opening the address of this page, and /join {channel} there where it is not open"
    command = clean(join_command(view.node, channel), limit=600)
    return command if view.node.broker else as_started(command) + _NEAR


def as_started(command: str) -> str:
    """Return a command for this machine with the name that finds the program there."""
    started = sys.argv[0]
    name, _, rest = command.partition(" ")
    found = shutil.which(name) is not None or os.path.basename(started) != name
    return command if found else f"{shlex.quote(started)} {rest}"


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


def top_line(
    view: Conversations,
    name: str,
    conversation: Conversation,
    timeline: Timeline,
    progress: CatchingUp | None,
    live_since: int,
) -> NoteItem | None:
    """Return the row above the first message: the history that is missing or, in an empty log, how to begin."""
    first = timeline.first_key()
    if not timeline.at_start:
        return None
    text = sentence(progress, conversation.history_since())
    text = text or ("" if first or timeline.gaps else beginning(view, name, conversation))
    return NoteItem(text, Tone.HELP, first[0] if first else live_since, _TOP, 0) if text else None
