"""The events that a page shows, and those that are read from the database of a profile.

The page holds them as JSON lines. The first one is the head. Each of the others has the columns of the journal
(`store/journal.py`) that have a value, without `v`, `node`, `boot`, `seq` and `channel`, and besides:

| column | meaning |
|---|---|
| `nick` | of the sender, if a key proves it |
| `reply_to` | id of the message that a delivered one answers |
| `text`, or `text_length` where texts are left out | of a delivered message |
| `packet` | the bytes of a packet in base64, unless texts are left out |
| `messages`, `fingerprint` | of the log after a delivery, where they are known |

The page is one HTML file that loads nothing: these events as JSON lines, and a player for them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from sdschat import __version__
from sdschat.identity.sanitize import harmless
from sdschat.identity.signing import nicks_by_sender
from sdschat.node.members.record import is_members_channel
from sdschat.node.view.packet_report import answered_by
from sdschat.node.view.user_texts import silent_nicks
from sdschat.store.journal import HERE, KEPT_AS_ID, LINE_ORDER, REJECTED, JournalRow, fingerprint_step, fingerprint_text
from sdschat.store.reader import Reader

MOST: Final = 20_000  # events of a page
_HEAD_VERSION: Final = 1
_COLUMNS: Final = tuple(name for name in LINE_ORDER if name not in {"v", "node", "boot", "seq", "channel"})
_NICK_LIMIT: Final = 40
_TEXT_LIMIT: Final = 16_384
_TRIES: Final = 5  # to read the journal and the state of the log at one moment, while a node writes

MEMBERS: Final = (
    "What is deleted in a members' channel is gone for everybody, and a file would keep it. So it is not shared as one."
)

Line = dict[str, Any]


class SharedEvents(NamedTuple):
    """A stretch of one channel, as one participant saw it."""

    channel: str
    node: str  # sender id of that participant
    nicks: Mapping[str, str]  # by sender id
    has_texts: bool
    lines: list[Line]  # oldest first

    def head(self) -> Line:
        """Return the first line."""
        return {
            "v": _HEAD_VERSION,
            "program": f"sdschat {__version__}",
            "channel": harmless(self.channel, limit=200),
            "node": self.node,
            "nicks": {sender_id: clean_nick(nick) for sender_id, nick in self.nicks.items() if nick},
            "texts": self.has_texts,
        }


def clean_nick(nick: str) -> str:
    """Return a nick that is safe to show, on one line."""
    return " ".join(harmless(nick, limit=_NICK_LIMIT).split())


def line_of(row: JournalRow) -> Line:
    """Return the columns of a row that have a value."""
    return {name: value for name in _COLUMNS if (value := getattr(row, name)) is not None}


def content_of(nick: str, text: str | None, raw: bytes | None, has_texts: bool, reply_to: str = "") -> Line:
    """Return what a message adds to its line: what it answers, its text and packet, or the length of its text alone."""
    found: Line = {"nick": clean_nick(nick)} if nick else {}
    if reply_to:
        found["reply_to"] = reply_to
    if text is None:  # of somebody muted, for one: then the packet stays away too
        return found
    if has_texts and raw is not None:
        found["packet"] = base64.b64encode(raw).decode()
    return found | (
        {"text": harmless(text, limit=_TEXT_LIMIT, lines=True)} if has_texts else {"text_length": len(text)}
    )


def from_database(
    reader: Reader, channel: str, node: str, since: int, *, has_texts: bool, present: Mapping[str, str] | None = None
) -> SharedEvents:
    """Return what a profile saved of a channel from this moment on, in epoch milliseconds: the newest events, if they
    are too many. `node` is the sender id of the profile; `present` has nicks that a presence proved, by sender id.
    Raises ValueError for a members' channel."""
    if is_members_channel(reader, channel):
        raise ValueError(MEMBERS)
    state, rows = _read(reader, channel, since)
    lines = [line_of(row) for row in rows]
    _add_fingerprints(lines, *state, lambda message_id: reader.lacks_packet(channel, message_id))
    if lines:  # those who were here already, at the moment of the first event
        at = lines[0]["ts_ms"]
        lines[:0] = [{"ts_ms": at, "event": HERE, "sender": name} for name in reader.here_before(channel, node, at)]
    nicks = silent_nicks(reader.value, channel) | dict(present or {})
    nicks |= nicks_by_sender(reader.keys())
    seen = {node} | {name for line in lines for name in (line.get("sender"), line.get("peer")) if name}
    for line in lines:
        detail = reader.message(channel, line["message_id"], ancestors=0) if line["event"] == "delivered" else None
        if detail is None:
            continue
        message = detail.message
        nicks[message.sender_id] = message.nick or nicks.get(message.sender_id, "")
        text = None if reader.hides(message.sender_id) else message.text
        line |= content_of(message.nick or "", text, message.raw, has_texts, answered_by(message.raw))
    return SharedEvents(channel, node, {name: nicks[name] for name in sorted(seen & nicks.keys())}, has_texts, lines)


def _read(reader: Reader, channel: str, since: int) -> tuple[tuple[str, int], list[JournalRow]]:
    """Return the state of the log and the rows up to it: both are read again if the log grew between them."""
    for _ in range(_TRIES):
        state = _state(reader, channel)
        rows = reader.journal_since(channel, since, MOST)
        if _state(reader, channel) == state:
            break
    return state, rows


def _state(reader: Reader, channel: str) -> tuple[str, int]:
    """Return the fingerprint of the log, and the number of its messages."""
    return next((info.fingerprint, info.messages) for info in reader.channels() if info.channel == channel)


def _add_fingerprints(lines: Iterable[Line], newest: str, messages: int, is_id: Callable[[str], bool]) -> None:
    """Add the state of the log after each delivery, backwards from the state of now: fingerprints are sums by exclusive
    or. An entry that was kept as an id has no id in the journal, so nothing is known of the log before it; nor before
    a refused message of which the log keeps the id: `is_id`."""
    fingerprint = int(newest, 16)
    for line in reversed(list(lines)):
        if line["event"] == KEPT_AS_ID or (line["event"] == REJECTED and is_id(line.get("message_id", ""))):
            return
        if line["event"] == "delivered":
            line["messages"], line["fingerprint"] = messages, fingerprint_text(fingerprint)
            fingerprint = fingerprint_step(fingerprint, line["lamport"], line["message_id"])
            messages -= 1


def folder_for_pages() -> Path:
    """Return the folder for a page without a place of its own: the working directory, or else one that can be
    written."""
    for folder in (Path.cwd(), Path.home()):
        with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=folder):
            return folder  # permissions alone do not tell: the disk may be read-only
    return Path(tempfile.gettempdir())


def page_name(channel: str, at: datetime | None = None) -> str:
    """Return the name of the file for a page of a channel. `at`: the moment that it is made, where the name has it."""
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in channel)
    return f"share-{safe}{'' if at is None else f'-{at:%Y%m%d-%H%M%S}'}.html"


_HERE: Final = files("sdschat.node.sharing")
_PLACE: Final = re.compile(r"\$(POLICY|STYLE|SCRIPT|TITLE|LINES)\b")


def page(shared: SharedEvents) -> str:
    """Return the page as one self-contained file. Its policy allows its own script and style, and nothing else."""
    style, script = (_HERE.joinpath(name).read_text("utf-8") for name in ("player.css", "player.js"))
    policy = f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}"
    head = shared.head()
    parts = {
        "POLICY": policy,
        "STYLE": style,
        "SCRIPT": script,
        "TITLE": escape(head["channel"]),
        "LINES": "\n".join(map(_encoded, [head, *shared.lines])),
    }
    return _PLACE.sub(lambda place: parts[place[1]], _HERE.joinpath("page.html").read_text("utf-8"))


def _encoded(line: Line) -> str:
    """Return a line of JSON in ASCII. The sign that begins a tag is escaped, so that no text ends the block."""
    return json.dumps(line, separators=(",", ":")).replace("<", "\\u003c")


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(source.encode()).digest()).decode()}'"
