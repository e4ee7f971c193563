"""Input lines of `pipe --json-input`: one JSON object each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

# The names of each kind of line, and the types of their values; those that may be left out end with "?".
_FORMS: Final[tuple[Mapping[str, type], ...]] = (
    {"to": str, "say": str},
    {"say": str, "reply_to?": str},
    {"edit": str, "text": str},
    {"delete": str},
    {"invite": str},
    {"leave": bool},
    {"show": str},
    {"open": str},
)


class InputLine(NamedTuple):
    """A line that was understood. `verb` is say, to, edit, delete, invite, leave, show or open."""

    verb: str
    text: str = ""
    target: str = ""  # a message id, a sender id or a nick


def read_line(line: bytes) -> InputLine:
    """Return what a line asks for. Raises ValueError with the reason, for a program."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON in UTF-8") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    form = next((form for form in _FORMS if _fits(form, found)), None)
    if form is None:
        raise ValueError(
            'it must be one of {"say": TEXT, "reply_to": ID}, {"edit": ID, "text": TEXT}, {"delete": ID}, '
            '{"invite": SENDER_ID}, {"leave": true}, {"show": NICK_OR_ID}, {"open": NICK_OR_ID} and '
            '{"to": NICK_OR_ID, "say": TEXT}'
        )
    return _line(found)


def _fits(form: Mapping[str, type], found: dict[str, Any]) -> bool:
    wanted = {name for name in form if not name.endswith("?")}
    allowed = {name.removesuffix("?"): kind for name, kind in form.items()}
    return wanted <= found.keys() <= allowed.keys() and all(
        type(value) is allowed[name] for name, value in found.items()
    )


def _line(found: dict[str, Any]) -> InputLine:
    match found:
        case {"to": to, "say": text}:
            return InputLine("to", text, to)
        case {"say": text}:
            return InputLine("say", text, found.get("reply_to", ""))
        case {"edit": target, "text": text}:
            return InputLine("edit", text, target)
        case {"delete": target}:
            return InputLine("delete", target=target)
        case {"invite": target}:
            return InputLine("invite", target=target)
        case {"show": target}:
            return InputLine("show", target=target)
        case {"open": target}:
            return InputLine("open", target=target)
    if found["leave"] is not True:
        raise ValueError('"leave" must be true')
    return InputLine("leave")
