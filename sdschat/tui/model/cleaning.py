"""Names and ids as they are shown. Like all texts from outside they come in through `sdschat.tui.safety`."""

from __future__ import annotations

from typing import Final

from sdschat.tui.safety import clean, clean_name

__all__ = ["clean", "clean_name", "nick_text", "short"]

_ID_SHOWN: Final = 4


def nick_text(nick: str) -> str:
    """A nick, on one line."""
    return clean_name(nick)


def short(message_id: str, letters: int = _ID_SHOWN) -> str:
    """The first letters of an id. Ids are of others' making too."""
    return clean_name(message_id[:letters])
