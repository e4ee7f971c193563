"""Keys that a user can give to actions."""

from __future__ import annotations

import re
from typing import Final

from sdschat.tui.model.words import key_words

_MODIFIERS: Final = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_MOVING: Final = frozenset({"up", "down", "left", "right", "home", "end", "pageup", "pagedown"})
_WRITING: Final = frozenset({"enter", "tab", "space", "escape", "backspace", "delete", "insert"})
_SHORT: Final = {"esc": "escape", "pgup": "pageup", "pgdn": "pagedown", "del": "delete", "ins": "insert"}
_FUNCTION: Final = re.compile(r"f([1-9]|1[0-9]|2[0-4])")
# Without these one could not write, or not change channels. Terminals send the same byte for Ctrl+H as for Backspace,
# for Ctrl+I as for Tab, for Ctrl+M as for Enter.
_FIXED: Final = (
    frozenset({f"ctrl+{letter}" for letter in "hijmprx"})
    | {f"alt+{digit}" for digit in range(1, 10)}
    | {"ctrl+up", "ctrl+down", "alt+enter", "ctrl+enter"}
)


def written_key(keys: str) -> str:
    """Return keys as they are kept, of keys in any case, also as help writes them: `Alt+Up, PgDn`."""
    parts = (part.strip().lower() for part in keys.split(","))
    return ",".join("+".join(_SHORT.get(each, each) for each in part.split("+")) for part in parts)


def key_problem(keys: str) -> str:
    """Return why these keys, with a comma between them, cannot be given to an action; empty if they can."""
    return next((problem for key in keys.split(",") if (problem := _problem(key))), "")


def _problem(key: str) -> str:
    *modifiers, base = key.split("+")
    letter = len(base) == 1 and base.isascii() and base.isalnum()
    function = _FUNCTION.fullmatch(base) is not None
    if not set(modifiers) <= _MODIFIERS or not (letter or function or base in _MOVING | _WRITING):
        return f"{key!r} is no key; there are such as f9, ctrl+g and alt+g"
    if key in _FIXED or not (function or {*modifiers} - {"shift"}):
        return f"{key_words(key)} stays what it is; there are such as f9, ctrl+g and alt+g"
    return ""
