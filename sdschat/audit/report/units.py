"""Durations, sizes and moments in words, and the command that shows one message of one database."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

NOTHING: Final = "\u2013"


def duration(ms: float | None) -> str:
    if ms is None:
        return NOTHING
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if abs(ms) >= size:
            return f"{ms / size:.3g} {unit}"
    return f"{ms:.3g} ms"


def size(count: float) -> str:
    for unit, amount in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= amount:
            return f"{count / amount:.3g} {unit}"
    return f"{count:.0f} B"


def moment(ms: int | None) -> str:
    if not ms:
        return NOTHING
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"@{ms}"


_SHOWN = 12  # digits of an id that are shown
_SAFE = " @+"  # not escaped in the names of profile folders


class Look(NamedTuple):
    text: str
    runs: bool  # True: the text is a command; False: it describes the position of the message


def look(source: str, channel: str, message_id: str) -> Look:
    """Return the command or text for a message. `inspect` finds only profiles in the folders of sdschat."""
    short, path = message_id[:_SHOWN], Path(source)
    profile = unquote(path.parent.name)
    kept = path.name == "sdschat.db" and path.parent.parent.name == "profiles"
    # A folder whose name is not the escaped form of a profile's name would be searched under another name.
    if not kept or not profile.strip() or quote(profile, safe=_SAFE) != path.parent.name:
        return Look(f"message {short} of {channel} in {source}", False)
    options = ("--profile", profile, "--data-dir", str(path.parent.parent.parent))
    return Look(shlex.join(["sdschat", "inspect", channel, short, *options]), True)
