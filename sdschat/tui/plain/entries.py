"""Messages as lines of text."""

from __future__ import annotations

from typing import Final

from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import MessageItem, Phase
from sdschat.tui.model.words import clock, short

_BEGINNING: Final = 40  # letters of a message that tell it from others


def entry_line(entry: MessageItem, model: ChannelModel, label: str, *, with_id: bool = False) -> str:
    """Return a message as lines of text. `label`: its channel, if that must be named; else empty. `with_id`: so that
    commands can name it."""
    who = model.name_of(entry.sender_id, entry.nick)
    name = short(entry.message_id) if with_id else ""
    marks = [mark for mark in (name, entry.remark, "late" if entry.late else "") if mark]
    if entry.quote is not None:
        marks.append(f"answers {entry.quote.nick or short(entry.quote.message_id)}")
    waits = model.connection.state != "connected" or (entry.fate is not None and entry.fate.word)
    if entry.fate is not None and entry.fate.phase is Phase.QUEUED and waits:
        marks.append("queued")
    noted = f" ({', '.join(marks)})" if marks else ""
    place = f"[{label}] " if label else ""
    text = below(entry.text)
    said = f"{who} {text}" if entry.action else f"{who}{noted}: {text}"
    return f"{clock(entry.at)} {place}{'* ' if entry.action else ''}{said}{noted if entry.action else ''}"


def below(text: str) -> str:
    """Return a text with its further lines set in: none of them looks like a line of the program or a message."""
    return text.replace("\n", "\n    ")


def beginning(text: str) -> str:
    """Return the first words of a text: they say to whoever listens which message is meant."""
    words = " ".join(text.split())
    return words if len(words) <= _BEGINNING else f"{words[:_BEGINNING].rpartition(' ')[0] or words[:_BEGINNING]} ..."
