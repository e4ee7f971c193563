"""The key of the profile that a command opens, where it is gone."""

from __future__ import annotations

from typing import Final

from sdschat.cli.options import Chosen
from sdschat.identity.keyfile import KEY_FILE

KEY_LOST: Final = (
    "The key of this profile was gone, so a new one was made: to others you are somebody else now. A copy of its "
    "identity.key, put in the place of the new one, makes you yourself again."
)


def note_lost_key(chosen: Chosen) -> None:
    """Add a warning if the profile is there without its key: opening it makes a new one."""
    if chosen.database.exists() and not (chosen.database.parent / KEY_FILE).exists():
        chosen.warnings.append(KEY_LOST)
