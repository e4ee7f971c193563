"""A survey before anything is read: the files in folders, whose they are, and if equal ones were taken in."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.audit.schemas import Ids, Whole
from sdschat.audit.sources.columnar import Columnar
from sdschat.audit.sources.databases import is_database
from sdschat.lake.sources.files import SUFFIXES
from sdschat.store.errors import StoreError

SEGMENTS: Final = tuple(ending for ending in SUFFIXES if ending != ".db")
OTHER_KIND: Final = "of another kind"
DANGLING: Final = "a link to nothing"
LINKED_FOLDER: Final = "a link to a folder"
UNREADABLE: Final = "a folder that cannot be read"
SPECIAL: Final = "neither file nor folder"
_BESIDE_DATABASE: Final = ("-wal", "-shm", "-journal", ".lock", ".reserve")
_OF_PROFILES: Final = frozenset({"identity.key"})
_PROFILE: Final = "sdschat.db"  # in the folder of a profile, which is called as its user wanted
_BESIDE: Final = ("", "-wal")  # the latest writes of a database are in a second file


class Found(NamedTuple):
    """The found files. `skipped`: reason and paths. `empty`: folders without anything to read."""

    files: list[Path]
    skipped: dict[str, list[Path]]
    empty: list[Path]


def find(sources: Iterable[Path]) -> Found:
    """Return the named files, and all in the named folders that look like a source. Raises FileNotFoundError for
    another path."""
    found: dict[Path, None] = {}
    skipped: dict[str, list[Path]] = defaultdict(list)
    empty: list[Path] = []
    for source in sources:
        if not source.is_dir():
            if not source.is_file():  # a pipe would be waited for without end
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

    What is still being written (its name begins with a dot or _) or belongs to a database or profile is not yielded.
    The folder of a profile is of a name that its user chose.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        yield UNREADABLE, folder
        return
    names = {entry.name for entry in entries}
    for entry in entries:
        begun = entry.name.startswith((".", "_")) and not os.path.isfile(os.path.join(entry.path, _PROFILE))
        if begun or _belongs(entry.name, names):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from within(Path(entry.path))
        else:
            yield _why_not(entry), entry


def _belongs(name: str, names: set[str]) -> bool:
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


class Seen(NamedTuple):
    """One file. `node` is empty unless the file is a readable database."""

    path: str
    stamp: str  # sizes and times, which change when somebody writes
    digest: str  # of the whole content; empty if not requested or not readable
    node: str
    as_of: int
    runs: Ids = ()  # of the program, that a database knows


def look(path: Path) -> Seen:
    seen = Seen(str(path), stamp(path), "", "", 0)
    with suppress(OSError, StoreError):
        seen = seen._replace(digest=_digest(path))
        if is_database(path):
            with Columnar(path) as evidence:
                runs = tuple(sorted({name for _, name in evidence.boots().values()}))
                return seen._replace(node=evidence.node(), as_of=evidence.as_of(), runs=runs)
    return seen


def stamp(path: Path) -> str:
    """Return the sizes and times of a file and of what belongs to it: other ones after somebody wrote."""
    found = []
    for end in _BESIDE:
        with suppress(OSError):
            status = path.with_name(path.name + end).stat()
            found.append(f"{status.st_size} {status.st_mtime_ns}" if status.st_size else "")
    return " ".join(filter(None, found))


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for end in _BESIDE:
        beside = path.with_name(path.name + end)
        if not end or beside.exists():
            with open(beside, "rb") as file:
                hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


class Standing(NamedTuple):
    """A file with a part that still counts as unreadable."""

    source: str
    node: str | None
    as_of: int | None


def taken_already(files: Iterable[Seen], taken: Iterable[Whole]) -> set[str]:
    """Return the paths of files that would add nothing. For events their order does not matter; a database also adds
    nothing if it is older than the last reading of its log, or is the very same file."""
    last: dict[str, tuple[int, int]] = {}
    by_node: dict[str, set[Whole]] = {}
    for whole in taken:
        last[whole.node] = max(last.get(whole.node, (0, 0)), (whole.as_of, whole.read_ms))
        by_node.setdefault(whole.node, set()).add(whole)
    found = set()
    for file in files:
        same = [whole for whole in by_node.get(file.node, ()) if whole.digest == file.digest]
        if not file.digest or not same:
            continue
        newest = {whole.digest for whole in by_node[file.node] if (whole.as_of, whole.read_ms) == last[file.node]}
        if not file.node or file.as_of < last[file.node][0] or newest == {file.digest}:
            found.add(file.path)
    return found


def maybe_mended(files: Iterable[Seen], bad: Iterable[Standing]) -> set[str]:
    """Return the paths of files that may be repaired versions of damaged files."""
    damaged = {(each.source, each.node or "") for each in bad}
    return {file.path for file in files if not damaged.isdisjoint({(file.path, ""), (file.path, file.node)})}


def stands_in_for(file: Seen, bad: Standing) -> bool:
    """Return True if this sound database has everything that the damaged one could have had."""
    return bool(file.node) and file.node == bad.node and bad.as_of is not None and file.as_of >= bad.as_of


def newest_of(files: Iterable[Seen]) -> list[Seen]:
    """Return the furthest database of each node, of equally far ones the first by path; logs of others are ignored."""
    found: dict[str, Seen] = {}
    for file in sorted(files):
        if file.node and (file.node not in found or file.as_of > found[file.node].as_of):
            found[file.node] = file
    return list(found.values())
