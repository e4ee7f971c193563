"""Files and folders that only their owner may read: what is written into them was said among some people."""

from __future__ import annotations

import contextlib
import os
import stat
from io import TextIOWrapper
from pathlib import Path
from typing import Final, Literal

_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700


def open_private(path: Path, mode: Literal["w", "x", "a"], *, errors: str | None = None) -> TextIOWrapper:
    """Open a file to write text. It is made for its owner alone, and one that is written anew is closed to others.
    Raises OSError."""

    def opener(name: str, flags: int) -> int:
        descriptor = os.open(name, flags, _FILE_MODE)
        if flags & os.O_TRUNC and stat.S_ISREG(os.fstat(descriptor).st_mode):
            with contextlib.suppress(OSError):  # it is another user's, or the disk knows no modes
                os.fchmod(descriptor, _FILE_MODE)
        return descriptor

    return open(path, mode, encoding="utf-8", errors=errors, opener=opener)


def expanded(text: str) -> Path:
    """Return a path as a person writes it, with a home in the place of `~` and `~USER`. Raises ValueError for a user
    whom nobody knows here."""
    path = os.path.expanduser(text)
    if path.startswith("~"):
        raise ValueError(f"{text} begins with a user who is not known here. Write the whole path, or ./ before it.")
    return Path(path)


def make_private(folder: Path) -> None:
    """Make a folder for its owner alone, with those above it that are missing. Raises OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=_FOLDER_MODE, exist_ok=True)
