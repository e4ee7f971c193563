"""Names and ids as the screen shows them. Like all texts of others they go through `sdschat.tui.model.cleaning`."""

from __future__ import annotations

from typing import Final

from sdschat.node.view.values import harmless

TEXT_LIMIT: Final = 16_384  # characters of a message that are drawn; all of them are kept, searched and copied
NAME_LIMIT: Final = 40


def clean(text: str, *, limit: int = TEXT_LIMIT, lines: bool = False) -> str:
    """Return at most `limit` characters of a text, safe to draw. It must not be read as markup."""
    return harmless(text, limit=limit, lines=lines)


def clean_name(name: str, *, limit: int = NAME_LIMIT) -> str:
    """Return a nick or a channel name, safe to draw: on one line, without runs of spaces, and without the selector by
    which two names would differ in nothing but colour."""
    return " ".join(harmless(name, limit=limit).replace("\ufe0f", "").split())


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
