"""The last line of the theatre: the keys that there is room for."""

from __future__ import annotations

from typing import Final

_KEYS: Final = (
    "1-6 cut",
    "s split",
    "m mend",
    "l loss",
    "k kill",
    "space pause",
    "→ step",
    "Enter write",
    "? help",
    "q quit",
)
_WHILE_WRITING: Final = ("Enter sends", "Esc back to the keys", "Ctrl+C quits")
_DISPENSABLE: Final = ("→ step", "l loss", "s split")  # where there is no room for all; help has them


def keys_in(room: int, *, writing: bool) -> tuple[list[str], str]:
    """Return the keys that there is room for, and what stands between them."""
    keys = [*(_WHILE_WRITING if writing else _KEYS)]
    for between in (" · ", "  "):
        if len(between.join(keys)) <= room:
            return keys, between
    for one in _DISPENSABLE:
        keys.remove(one)
        if len("  ".join(keys)) <= room:
            break
    return keys, "  "
