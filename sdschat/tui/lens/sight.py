"""Everything that a view may look at. Views are pure: the same sight gives the same lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sdschat.node.lens import Peek
from sdschat.node.view_values import OwnFate, Shown
from sdschat.tui.lens.trace import Trace
from sdschat.tui.model.cleaning import clean, nick_text, short
from sdschat.tui.model.glyphs import UNICODE, Glyphs


class Sight(NamedTuple):
    """One look, at one moment."""

    peek: Peek
    trace: Trace
    nick_of: Callable[[str], str]  # of a sender id; empty where nobody proved to have one
    message: Callable[[str], Shown | None]  # of the log
    fate: Callable[[str], OwnFate | None]  # of an own message
    raw: Callable[[str], bytes | None]  # the packet of a message
    selection: str | None = None
    argument: str = ""  # what was typed behind the name of the view
    width: int = 60
    glyphs: Glyphs = UNICODE
    faults: str = ""
    carried: tuple[str, ...] = ()  # what the faults did so far, in words

    def who(self, sender_id: str | None) -> str:
        """What to call a participant."""
        if not sender_id:
            return "?"
        if sender_id == self.peek.me:
            return "you"
        return nick_text(self.nick_of(sender_id)) or f"<{short(sender_id, 8)}>"

    def packet(self, packet_id: str) -> str:
        """What to call a packet. Those of messages go by the message's id, sync messages by an id of their own."""
        return clean(packet_id[:9] if packet_id.startswith("sync-") else packet_id[:4], limit=16)

    def text_of(self, message_id: str, limit: int = 40) -> str:
        """The beginning of what a message says; empty where it is not in the log."""
        shown = self.message(message_id)
        if shown is None:
            return ""
        return clean(" ".join((shown.text or "")[: 2 * limit].split()), limit=limit)
