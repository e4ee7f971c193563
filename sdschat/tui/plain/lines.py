"""The lines of a message without a screen."""

from __future__ import annotations

from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.cleaning import short
from sdschat.tui.model.items import Entry, Phase
from sdschat.tui.model.words import clock


def entry_line(entry: Entry, model: ChannelModel, label: str) -> str:
    """Return a message as lines of text. `label`: its channel, if that must be named; else empty."""
    who = model.name_of(entry.sender_id, entry.nick)
    marks = [mark for mark in (entry.remark, "late" if entry.late else "") if mark]
    if entry.quote is not None:
        marks.append(f"answers {entry.quote.nick or short(entry.quote.message_id)}")
    offline = model.connection.state != "connected"
    if entry.fate is not None and entry.fate.phase is Phase.QUEUED and offline:
        marks.append("queued")
    noted = f" ({', '.join(marks)})" if marks else ""
    place = f"[{label}] " if label else ""
    text = entry.text.replace("\n", "\n    ")
    said = f"{who} {text}" if entry.action else f"{who}{noted}: {text}"
    return f"{clock(entry.at)} {place}{'* ' if entry.action else ''}{said}{noted if entry.action else ''}"
