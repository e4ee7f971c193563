"""The line at the start about messages that an earlier run left unacknowledged."""

from __future__ import annotations

from typing import Final

from sdschat.node.view.conversations import Places
from sdschat.tui.model.items import Tone
from sdschat.tui.model.words import count, duration

_STALE: Final = 15 * 60_000  # milliseconds; the user no longer expects an older message to be sent


def left_over(view: Places, channel: str, known: int, now: int) -> tuple[str, Tone]:
    """Return the text with their number, and its tone. If they are old, it also says their age, as an alert."""
    text = f"{count(known, 'message')} of yours from before not acknowledged yet"
    shown = (view.message(channel, message_id) for message_id in view.open_messages(channel))
    oldest = next((message for message in shown if message is not None), None)
    age = 0 if oldest is None else now - oldest.received_at
    if age < _STALE:
        return text, Tone.INFO
    since = "written" if known == 1 else "the oldest written"
    return f"{text}, {since} {duration(age)} ago; what was never sent goes out now: /outbox lists it", Tone.ALERT
