"""Reading a recording from its file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from sdschat.node.recording.codec import VERSION
from sdschat.node.settings import Settings, make_settings
from sdschat.sds.config import Config
from sdschat.wire.chat_codec import MAX_SENT_TIME

LONGEST_LINE: Final = 64 * 1024 * 1024
USUAL_SETTINGS: Final = make_settings({})  # of what does not say its own
_MADE_BY: Final = "Only recordings can be played here: `sdschat join CHANNEL --record FILE` makes one."


class RecordingError(ValueError):
    """A file is no recording that can be shown. The text says why, and what to do."""


class RecordedLine(NamedTuple):
    """One line."""

    at: int
    channel: str
    fields: dict[str, Any]

    @property
    def has_event(self) -> bool:
        """True if the line holds an event that an observer was told."""
        return "f" in self.fields


class Recording(NamedTuple):
    """A file, read."""

    sender_id: str
    nick: str
    settings: Settings
    steps: list[RecordedLine]
    skipped: int  # lines that cannot be used

    @property
    def channels(self) -> list[str]:
        return list(dict.fromkeys(step.channel for step in self.steps if step.channel))


def read_recording(path: Path) -> Recording:
    """Read a recording. Raises RecordingError, and OSError if the file cannot be read."""
    steps: list[RecordedLine] = []
    skipped = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        head = _head(file.readline(LONGEST_LINE), path)
        for text in file:
            step = _step(text)
            if step is None:
                skipped += 1
            else:
                steps.append(step)
    try:
        settings = make_settings({}, str(head.get("timing", "spec")))
        settings = replace(settings, config=Config(**head.get("config", {})))
    except (ValueError, TypeError):
        settings = USUAL_SETTINGS
    return Recording(str(head.get("sender_id", "")), str(head.get("nick", "")), settings, steps, skipped)


def _head(text: str, path: Path) -> dict[str, Any]:
    try:
        head = json.loads(text)
    except (ValueError, RecursionError):
        head = None
    if text.startswith("<!doctype html>"):
        raise RecordingError(f"{path} is a page: open it in a browser. {_MADE_BY}")
    if isinstance(head, dict) and "texts" in head and "sender_id" not in head:  # the head of `sharing.events`
        raise RecordingError(f"{path} has the events of a page, to be read by tools. {_MADE_BY}")
    if isinstance(head, dict) and "tap" in head:  # a line of a segment
        raise RecordingError(f"{path} has the packets that `sdschat tap` recorded: `sdschat decode` explains them.")
    if not isinstance(head, dict) or "v" not in head:
        raise RecordingError(f"{path} is no recording. `sdschat join CHANNEL --record FILE` makes one.")
    if head["v"] != VERSION:
        raise RecordingError(f"{path} is a recording of version {head['v']}; this program knows {VERSION}. Update it.")
    return head


def _step(text: str) -> RecordedLine | None:
    """Return a line, or None for one that cannot be used: the last line of a program that was killed may be a piece of
    one, and anybody may have written the file."""
    try:
        line = json.loads(text, parse_int=_number)
        at = int(line["t"])
        return RecordedLine(at, str(line.get("c", "")), line) if 0 <= at <= MAX_SENT_TIME else None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _number(digits: str) -> int:
    """Return a number that a database can hold. Raises ValueError for any other."""
    number = int(digits)
    if not -(2**63) <= number < 2**63:
        raise ValueError("no recorded number is so large")
    return number
