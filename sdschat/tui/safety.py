"""The door through which text from outside comes onto the screen."""

from __future__ import annotations

from typing import Final

from sdschat.node.view_values import harmless

TEXT_LIMIT: Final = 16_384  # characters of a message that are drawn; all of them are kept, searched and copied
NAME_LIMIT: Final = 40


def clean(text: str, *, limit: int = TEXT_LIMIT, lines: bool = False) -> str:
    """Text of others as it may be drawn, at most `limit` characters of it. It is still not to be read as markup."""
    return harmless(text, limit=limit, lines=lines)


def clean_name(name: str, *, limit: int = NAME_LIMIT) -> str:
    """A nick or a channel, on one line and without room at its ends or in its middle to hide something in."""
    return " ".join(harmless(name, limit=limit).split())
