"""Values of the engine and the node as JSON and back, for recordings. Whatever is written says what it is."""

from __future__ import annotations

import base64
import dataclasses
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from sdschat.identity.content import ContentKind, OpenedContent, Verdict
from sdschat.identity.key_book import KeyMet, NickChanged, NickClaimed
from sdschat.node import events
from sdschat.node.members import events as of_members
from sdschat.sds import values
from sdschat.sds.values import AckState, HistoryEntry, Message, Reason
from sdschat.store.transaction import IndexedText

VERSION: Final = 1
EARLIER: Final = 500  # messages of a channel from before that are recorded with it
_ENUMS: Final[dict[str, type[Enum]]] = {
    kind.__name__: kind for kind in (AckState, Reason, Verdict, ContentKind, values.Table)
}
_CLASSES: Final[dict[str, type]] = {
    kind.__name__: kind
    for kind in (
        *(kind for kind in get_args(events.EventBody) if kind.__module__ != of_members.__name__),  # none is recorded
        *get_args(values.Row),
        values.Append,
        values.Put,
        values.Drop,
        values.Entry,
        values.LogRow,
        values.Evidence,
        events.Said,
        OpenedContent,
        Message,
        HistoryEntry,
        IndexedText,
        KeyMet,
        NickChanged,
        NickClaimed,
    )
}


# Classes under their names in recordings of earlier versions.
_FORMER_NAMES: Final = {
    "LeftOutgoing": "MessageRetired",
    "MessageParked": "MessageDeferred",
    "LayoutChanged": "FilterFormatChanged",
    "HeldRow": "IncomingRow",
}


class Unrecorded(ValueError):
    """A value in a recording that this version does not know."""


def to_json(value: Any) -> Any:
    """Return a value as JSON can hold it. Raises TypeError for a type that is never recorded."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, Enum):
        return {"e": type(value).__name__, "v": value.value}
    if isinstance(value, str | int):
        return value
    if isinstance(value, bytes):
        return {"b": base64.b64encode(value).decode()}
    name = type(value).__name__
    if name in _CLASSES:
        return {"o": name, "v": [to_json(part) for part in _parts(value)]}
    if isinstance(value, tuple | list):
        return [to_json(part) for part in value]
    raise TypeError(f"a {name} is not recorded")


def _parts(value: Any) -> list[Any]:
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return list(value)


def from_json(value: Any) -> Any:
    """Return the value that `to_json` was given. Raises Unrecorded if no such value has this form."""
    if isinstance(value, list):
        return tuple(from_json(part) for part in value)
    if not isinstance(value, dict):
        return value
    try:
        if "b" in value:
            return base64.b64decode(value["b"], validate=True)
        if "e" in value:
            return _ENUMS[value["e"]](value["v"])
        name: str = value["o"]
        made = _CLASSES[_FORMER_NAMES.get(name, name)](*(from_json(part) for part in value["v"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Unrecorded(f"{type(error).__name__}: {error}") from error
    for field, hint in _hints(made.__class__):
        if not _fits(getattr(made, field), hint):
            raise Unrecorded(f"{field} of {name} is {type(getattr(made, field)).__name__}")
    return made


@cache
def _hints(made: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a class with their types."""
    return tuple(get_type_hints(made).items())


def _fits(value: Any, hint: Any) -> bool:
    """True if a value is of this type: anybody may have written the file, and screens trust what they are told. All
    sequences come back as tuples; types of other kinds are not checked."""
    arguments = get_args(hint)
    match get_origin(hint):
        case None:
            if hint is float:
                return isinstance(value, int | float)
            if isinstance(hint, type) and issubclass(hint, tuple) and hint.__name__ not in _CLASSES:
                return isinstance(value, tuple)  # recorded as a sequence
            return not isinstance(hint, type) or isinstance(value, hint)
        case origin if origin in (Union, UnionType):
            return any(_fits(value, one) for one in arguments)
        case origin if origin is Literal:
            return value in arguments
        case origin if origin is tuple and arguments[-1:] != (...,):
            whole = isinstance(value, tuple) and len(value) == len(arguments)
            return whole and all(map(_fits, value, arguments))
        case origin if isinstance(origin, type) and issubclass(tuple, origin | list):
            return isinstance(value, tuple) and all(_fits(one, arguments[0]) for one in value)
        case _:
            return True
