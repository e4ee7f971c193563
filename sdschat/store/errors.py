"""Errors of a profile's database, worded for its user."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import unquote

# The errors of values that our program never writes, with a right checksum or before the checksum is checked.
UNREADABLE: Final = (ValueError, TypeError, KeyError, OverflowError, RecursionError)

# Primary result codes of SQLite; the extended code keeps the primary one in its low byte.
_PERM: Final = 3
_BUSY: Final = 5
_LOCKED: Final = 6
_READONLY: Final = 8
_IOERR: Final = 10
_FULL: Final = 13
_CANTOPEN: Final = 14
_AUTH: Final = 23
_FEW_BYTES: Final = 64 * 1024  # with less room than this on a disk, a failure of writing is for want of it


class StoreError(Exception):
    """An error of the database that a user has to know. `exit_code` is that of the command."""

    exit_code: ClassVar[int] = 1


class ProfileInUse(StoreError):
    """Another process has this profile open."""

    exit_code = 5

    def __init__(self, path: Path, pid: int | None) -> None:
        self.pid = pid
        holder = f"process {pid}" if pid is not None else "another process"
        super().__init__(f"the profile in {path.parent} is in use by {holder}; end it first, or choose another profile")


class SchemaNewer(StoreError):
    """The database was written by a newer program, and this one might break it."""

    exit_code = 5

    def __init__(self, path: Path, found: int, known: int) -> None:
        self.found, self.known = found, known
        super().__init__(
            f"{path} was written by a newer sdschat (schema {found}; this one knows {known}); update the program"
        )


class SchemaOlder(StoreError):
    """The database must be migrated first, which a reader must not do."""

    exit_code = 5

    def __init__(self, path: Path, found: int, known: int) -> None:
        self.found, self.known = found, known
        super().__init__(
            f"{path} was written by an older sdschat (schema {found}; this one needs {known}); "
            "join a channel with this profile once, which brings it up to date"
            if found
            else f"{path} is empty, and no database of sdschat"
        )


class StoreIncomplete(StoreError):
    """The file was copied without its write-ahead log, or with a part of that."""

    exit_code = 5

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(
            f"{path} is not whole: the latest writes are in {path.name}-wal, which {detail}. Copy both files again, "
            "with the node stopped"
        )


class StoreDamaged(StoreError):
    """The file has other content than was written. Nothing of it is shown or used."""

    exit_code = 5

    def __init__(self, path: Path, detail: str) -> None:
        self.detail = detail
        super().__init__(f"{path} is damaged ({detail}){_salvage(path)}")


def _salvage(path: Path) -> str:
    """Return the command that salvages the profile of the file; "" for a file that is not in a profile's place."""
    profiles = path.absolute().parent.parent
    if profiles.name != "profiles":
        return ""
    words = ("--profile", unquote(path.parent.name), "--data-dir", str(profiles.parent), "--salvage", "NEW")
    return f"; what can be read goes into a new profile with: sdschat doctor {shlex.join(words)}"


class DiskFull(StoreError):
    """The disk is full: nothing of the transaction was saved; everything saved before it still is."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"the disk is full: the last change was not saved to {path}, everything before it was; free some space"
        )


class StoreReadOnly(StoreError):
    exit_code = 2

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path} cannot be written ({detail}); nothing was changed. Make it writable for your user")


class StoreUnavailable(StoreError):
    """The file is absent, not ours, locked, or the disk does not answer; the file itself may be intact."""

    exit_code = 5

    def __init__(self, path: Path, detail: str) -> None:
        self.detail = detail
        super().__init__(f"{path} cannot be used ({detail})")


class DirectoryRefused(StoreUnavailable):
    """The folder of a profile is absent and cannot be made, or it is another user's."""

    exit_code = 2

    def __init__(self, path: Path, detail: str) -> None:
        verb = "used" if os.path.lexists(path.parent) else "made"
        StoreError.__init__(
            self, f"the folder {path.parent} cannot be {verb}: {detail}. Choose another one with --data-dir."
        )
        self.detail = detail


def translate(error: sqlite3.Error, path: Path) -> StoreError:
    """Return the same error as a `StoreError`. All statements are constants, so any other failure is due to the
    file."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary == _FULL or (primary in (_IOERR, _CANTOPEN) and _room_beside(path) < _FEW_BYTES):
        return DiskFull(path)
    if primary in (_PERM, _READONLY, _AUTH):
        return StoreReadOnly(path, str(error))
    if primary in (_BUSY, _LOCKED):
        return StoreUnavailable(path, f"{error}: another program works on it; end that one, and try again")
    if primary in (_IOERR, _CANTOPEN):
        return StoreUnavailable(path, str(error))
    return StoreDamaged(path, str(error))


def _room_beside(path: Path) -> int:
    """Return the free bytes of the disk with the file: SQLite does not always say that it is full."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return _FEW_BYTES
    return disk.f_bavail * disk.f_frsize


@contextmanager
def as_store_error(path: Path) -> Iterator[None]:
    """Translate errors of SQLite to `StoreError`, except wrong calls by our own code."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.NotSupportedError):
        raise
    except sqlite3.Error as error:
        raise translate(error, path) from error
    except UnicodeDecodeError as error:  # in a message of SQLite that quotes the file
        raise StoreDamaged(path, "text in it is not UTF-8") from error
