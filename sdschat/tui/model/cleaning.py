"""Names and ids as the screen shows them. Like all texts of others they go through `sdschat.tui.safety`."""

from __future__ import annotations

from typing import Final

from sdschat.tui.safety import clean, clean_name

__all__ = ["clean", "clean_name", "nick_text", "reason_text", "short"]

_ID_SHOWN: Final = 4
_REASON: Final = 400


def nick_text(nick: str) -> str:
    """Return a nick that is safe to draw, on one line."""
    return clean_name(nick)


def reason_text(error: Exception) -> str:
    """Return the text of an error, safe to draw: it may contain texts of others, such as nicks."""
    return clean(str(error), limit=_REASON)


def short(message_id: str, letters: int = _ID_SHOWN) -> str:
    """Return the first letters of an id, safe to draw: ids are chosen by others too."""
    return clean_name(message_id[:letters])
