"""How a person looks at one message in one database."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

_SHOWN = 12  # digits of an id
_SAFE = " @+"  # as in the names of folders of profiles


class Look(NamedTuple):
    text: str
    runs: bool  # it is a command; otherwise it is a place, in words


def look(source: str, channel: str, message_id: str) -> Look:
    """`inspect` finds profiles, where sdschat keeps them, and cannot be pointed at any other file."""
    short, path = message_id[:_SHOWN], Path(source)
    profile = unquote(path.parent.name)
    kept = path.name == "sdschat.db" and path.parent.parent.name == "profiles"
    # A folder that stands for no profile's name would be looked for under another one.
    if not kept or not profile.strip() or quote(profile, safe=_SAFE) != path.parent.name:
        return Look(f"message {short} of {channel} in {source}", False)
    options = ("--profile", profile, "--data-dir", str(path.parent.parent.parent))
    return Look(shlex.join(["sdschat", "inspect", channel, short, *options]), True)
