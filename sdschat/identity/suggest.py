"""Suggestions for mistyped names: of settings, commands, variables and channels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_ALIKE: Final = 0.6  # of 1; two letters that changed places in a short name are still found


def nearest(name: str, known: Iterable[str], alike: float = _ALIKE) -> str | None:
    """Return the known name most like `name`, or None if none is at least so much alike (0 to 1)."""
    from difflib import get_close_matches  # imported here: it is needed only after a mistake

    return next(iter(get_close_matches(name, list(known), 1, alike)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, prefix: str = "") -> str:
    """Return the question that names the nearest known name, with `prefix`, or `otherwise` if none is near."""
    found = nearest(name, known)
    return otherwise if found is None else f"Did you mean {prefix}{found}?"
