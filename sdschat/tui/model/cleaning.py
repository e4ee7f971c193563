"""Names and ids as they are shown. Like all texts from outside they come in through `sdschat.tui.safety`."""

from __future__ import annotations

from typing import Final

from sdschat.tui.safety import clean, clean_name

__all__ = ["clean", "clean_name", "nick_text", "reason_text", "short"]

_ID_SHOWN: Final = 4
_REASON: Final = 400


def nick_text(nick: str) -> str:
    """A nick, on one line."""
    return clean_name(nick)


def reason_text(error: Exception) -> str:
    """What the node says of something that it refuses. It may name what others wrote, their nicks for one."""
    return clean(str(error), limit=_REASON)


def short(message_id: str, letters: int = _ID_SHOWN) -> str:
    """The first letters of an id. Ids are of others' making too."""
    return clean_name(message_id[:letters])
