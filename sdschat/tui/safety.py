"""The only way of texts of others to the screen: both functions make them safe to draw."""

from __future__ import annotations

from typing import Final

from sdschat.node.view.values import harmless

TEXT_LIMIT: Final = 16_384  # characters of a message that are drawn; all of them are kept, searched and copied
NAME_LIMIT: Final = 40


def clean(text: str, *, limit: int = TEXT_LIMIT, lines: bool = False) -> str:
    """Return at most `limit` characters of a text, safe to draw. It must not be read as markup."""
    return harmless(text, limit=limit, lines=lines)


def clean_name(name: str, *, limit: int = NAME_LIMIT) -> str:
    """Return a nick or a channel name, safe to draw: on one line, and without runs of spaces."""
    return " ".join(harmless(name, limit=limit).split())
