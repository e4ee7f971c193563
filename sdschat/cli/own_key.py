"""The key of the profile that a command opens: the nick that it goes by, and words where it is gone."""

from __future__ import annotations

import contextlib
import time
from typing import Final

from sdschat.cli.options import WORKED_OUT, Chosen, FoundSettings
from sdschat.identity.keyfile import KEY_FILE
from sdschat.node.own_nick import keep_nick, kept_nick
from sdschat.node.profile import Profile
from sdschat.store.errors import StoreError

KEY_LOST: Final = (
    "The key of this profile was gone, so a new one was made: to others you are somebody else now. A copy of its "
    "identity.key, put in the place of the new one, makes you yourself again."
)


def note_lost_key(chosen: Chosen) -> None:
    """Add a warning if the profile is there without its key: opening it makes a new one."""
    if chosen.database.exists() and not (chosen.database.parent / KEY_FILE).exists():
        chosen.warnings.append(KEY_LOST)


def keep_name(chosen: Chosen, profile: Profile) -> None:
    """Go by the nick that the key of this profile last went by, if the user gave none: to others it is a renaming. Keep
    the nick for the next start."""
    kept = kept_nick(profile)
    if kept and chosen.general["name"].origin in WORKED_OUT:
        chosen.general["name"] = FoundSettings(kept, "the profile")
    with contextlib.suppress(StoreError):  # the disk is full: the chat says so
        keep_nick(profile, chosen.nick, time.time_ns() // 1_000_000)
