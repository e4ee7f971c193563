"""The files that the user named, and the files in folders that are skipped."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.lake.sources.files import SUFFIXES

OTHER_KIND: Final = "of another kind"
DANGLING: Final = "a link to nothing"
LINKED_FOLDER: Final = "a link to a folder"
UNREADABLE: Final = "a folder that cannot be read"
SPECIAL: Final = "neither file nor folder"
_BESIDE_DATABASE: Final = ("-wal", "-shm", "-journal", ".lock", ".reserve")
_OF_PROFILES: Final = frozenset({"identity.key"})


class Found(NamedTuple):
    """The found files. `skipped`: reason and paths. `empty`: folders without anything to read."""

    files: list[Path]
    skipped: dict[str, list[Path]]
    empty: list[Path]


def find(sources: Iterable[Path]) -> Found:
    """Return the named files, and every file in the named folders that looks like a source.

    Raises FileNotFoundError.
    """
    found: dict[Path, None] = {}
    skipped: dict[str, list[Path]] = defaultdict(list)
    empty: list[Path] = []
    for source in sources:
        if not source.is_dir():
            if not source.exists():
                raise FileNotFoundError(source)
            found[source.resolve()] = None
            continue
        nothing = True
        for why, path in within(source):
            if why is None:
                found[Path(path).resolve()] = None
                nothing = False
            else:
                skipped[why].append(Path(path))
        if nothing:
            empty.append(source)
    return Found(list(found), dict(skipped), empty)


def within(folder: Path) -> Iterator[tuple[str | None, os.DirEntry[str] | Path]]:
    """Yield each file in order, with the reason if it is skipped.

    A file whose name begins with a dot or _ is still being written, and a file that belongs to a database or a profile
    is no source: these are not yielded.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield UNREADABLE, folder
        return
    names = {entry.name for entry in entries}
    for entry in entries:
        if entry.name.startswith((".", "_")) or _belongs(entry.name, names):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from within(Path(entry.path))
        else:
            yield _why_not(entry), entry


def _belongs(name: str, names: set[str]) -> bool:
    """True if the file belongs to a database beside it, or to a profile."""
    return name in _OF_PROFILES or any(
        name.endswith(end) and name.removesuffix(end).endswith(".db") and name.removesuffix(end) in names
        for end in _BESIDE_DATABASE
    )


def _why_not(entry: os.DirEntry[str]) -> str | None:
    try:
        mode = entry.stat().st_mode
    except OSError:
        return DANGLING if entry.is_symlink() else None  # the reader of this file reports the error
    if stat.S_ISDIR(mode):
        return LINKED_FOLDER
    if not stat.S_ISREG(mode):
        return SPECIAL
    return None if entry.name.endswith(SUFFIXES) else OTHER_KIND
