"""Other keys that go by our nick: whoever reads their messages may take them for ours."""

from __future__ import annotations

from typing import Final

from sdschat.node import events
from sdschat.node.events import KeyMet, NickChanged, NickClaimed
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.tags import is_namesake
from sdschat.tui.model.event_notes import Line
from sdschat.tui.model.items import Tone
from sdschat.tui.model.words import nick_text, short

_MOST: Final = 3  # lines of one channel in one run: keys cost nothing to make, and their ids stand beside each nick


class Namesakes:
    """Tells of each such key once."""

    def __init__(self, view: Conversations) -> None:
        self._view = view
        self._told: set[str] = set()

    def line(self, body: events.EventBody) -> Line | None:
        """Return the line about a key that goes by our nick since this event, if it was not told of yet."""
        match body:
            case KeyMet(sender_id, nick) | NickChanged(sender_id, _, nick):
                pass
            case events.PresenceChanged(sender_id, nick, True) if self._view.node.gate.nick_of(sender_id) != nick:
                pass  # at each later start its ids are enough
            case _:
                return None
        if not is_namesake(self._view.node, sender_id, nick) or sender_id in self._told or len(self._told) >= _MOST:
            return None
        self._told.add(sender_id)
        own, theirs = self._view.node.sender_id, short(sender_id, 8)
        return (
            f"another key goes by your nick: {nick_text(nick)} ({theirs}) is NOT you ({short(own, 8)}). "
            "Ids stand beside both; /nick changes yours",
            Tone.ALERT,
        )

    def tells_more(self, body: NickClaimed) -> bool:
        """True if a claim of a nick says more than that the nick is ours, of which a line tells."""
        return body.verified or not is_namesake(self._view.node, body.sender_id, body.nick)
