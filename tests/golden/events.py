"""One sample of every event of the program, as its JSON line and as its row of the journal."""

from __future__ import annotations

import enum
import types
import typing
from typing import Any, get_args, get_origin, get_type_hints

from sdschat.cli.json_events import json_line
from sdschat.identity.content import OpenedContent
from sdschat.node.events import EventBody, NodeEvent, Said
from sdschat.sds.events import Event
from sdschat.sds.values import Message, Now
from sdschat.store.journal import journal_rows, json_lines

_NOW = Now(1_760_000_000_000, 5_000)
_MESSAGE = Message("alice", "m1", "lobby", 7, content=b"hello")


def sample(kind: Any, name: str = "") -> Any:
    """Make a value of a type: simple, and the same each time."""
    origin = get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return sample(get_args(kind)[0], name)
    if origin in (tuple, list, typing.Sequence):
        return (sample(get_args(kind)[0], name),)
    if kind is Message:
        return _MESSAGE
    if kind is Said or kind is OpenedContent:
        return kind(*(sample(hint, field) for field, hint in get_type_hints(kind).items()))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return next(iter(kind))
    simple: dict[Any, Any] = {str: name, int: 3, float: 0.5, bool: True, bytes: b"bytes"}
    if kind in simple:
        return simple[kind]
    return kind(*(sample(hint, field) for field, hint in get_type_hints(kind).items()))


def lines() -> list[str]:
    """Return the JSON line of each event, then the journal row of each event of the engine."""
    events = [sample(kind) for kind in get_args(EventBody)]
    told = [json_line(NodeEvent("lobby", _NOW.wall, event)) for event in events]
    rows = [
        journal_rows(event, channel="lobby", now=_NOW) for event in events if isinstance(event, typing.get_args(Event))
    ]
    return [*told, *json_lines(row for row in rows if row is not None)]
