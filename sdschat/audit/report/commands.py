"""Commands that show one message of one database to the user."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

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
