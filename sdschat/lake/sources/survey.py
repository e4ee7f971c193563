"""A survey of files before anything is read: whose they are, and if they are equal to files that were taken in."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.audit.schemas import Ids
from sdschat.audit.sources.columnar import Columnar
from sdschat.lake.sources.files import FileKind, kind_of
from sdschat.store.errors import StoreError

_BESIDE: Final = ("", "-wal")  # the latest writes of a database are in a second file


class Seen(NamedTuple):
    """One file. `node` is empty unless the file is a readable database."""

    path: str
    stamp: str  # sizes and times, which change when somebody writes
    digest: str  # of the whole content; empty if not requested or not readable
    node: str
    as_of: int
    runs: Ids = ()  # of the program, that a database knows


def look(path: Path) -> Seen:
    """Survey one file."""
    seen = Seen(str(path), stamp(path), "", "", 0)
    with suppress(OSError, StoreError):
        seen = seen._replace(digest=_digest(path))
        if kind_of(path) is FileKind.DATABASE:
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
