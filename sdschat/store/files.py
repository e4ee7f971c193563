"""The files of a profile: their permissions, the lock of the process, the reserve for a full disk."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
from pathlib import Path
from typing import Final

from sdschat.store.errors import DirectoryRefused, ProfileInUse, StoreReadOnly, StoreUnavailable

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600
RESERVE_BYTES: Final = 1024 * 1024
# The file format of SQLite: a header of the database, and of its write-ahead log and each frame of that.
_HEAD: Final = 100
_PAGE_SIZE: Final = slice(16, 18)
_LARGEST_PAGE: Final = 65_536  # written as 1 in two bytes, which no other size is
_WRITE_VERSION: Final = 18
_WAL_MODE: Final = 2
_LOG_HEAD: Final = 32
_FRAME_HEAD: Final = 24
_COPY: Final = ".schema-"
_SIDE_FILES: Final = ("-wal", "-shm", "-journal", ".lock", ".reserve")


def beside(path: Path, suffix: str) -> Path:
    """Return a file that belongs to the database, named after it."""
    return path.with_name(path.name + suffix)


def log_fault(path: Path, *, needed: bool = False) -> str:
    """Return the fault of the -wal file of a database, in words; empty if none is seen.

    `needed`: nothing is in the database itself, so that a log must be there, with something in it.
    """
    wal = beside(path, "-wal")
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        size = wal.stat().st_size if wal.exists() else None
    except OSError:
        return ""
    if len(head) < _HEAD or head[_WRITE_VERSION] != _WAL_MODE:
        return ""
    page = int.from_bytes(head[_PAGE_SIZE])
    frame = _FRAME_HEAD + (_LARGEST_PAGE if page == 1 else page)
    if size and (size < _LOG_HEAD or (size - _LOG_HEAD) % frame):
        return "ends in the middle"
    if not needed:
        return ""
    return "is not there" if size is None else "has nothing whole"


def prepare_directory(path: Path) -> None:
    """Make the directory of the database, for its owner alone.

    Permissions are set at creation, or there would be a moment without them; and once more afterwards, because the
    umask may take rights away that the owner must have.
    """
    directory = path.parent
    try:
        missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
            folder.chmod(DIRECTORY_MODE)
        if not missing and path.exists() and directory.stat().st_uid == os.geteuid():
            directory.chmod(DIRECTORY_MODE)
    except FileExistsError as error:
        raise DirectoryRefused(path, f"{error.filename} is a link that leads to nothing") from error
    except OSError as error:
        raise DirectoryRefused(path, error.strerror or str(error)) from error


def require_file(path: Path) -> None:
    """Raise StoreUnavailable for what cannot be a database: a pipe would be waited for without end."""
    if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
        raise StoreUnavailable(path, "no permission to look into this folder")
    if not path.is_file():
        what = "it is a link that leads to nothing" if not path.exists() else "it is no file"
        raise StoreUnavailable(path, f"{what}; move it away")


def prepare_file(path: Path) -> None:
    """Make the database file before SQLite does, which gives -wal and -shm the permissions of this one.

    Call it before the first connection only: closing a descriptor of an open database drops SQLite's locks.
    """
    try:
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        require_file(path)
        if not os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise StoreReadOnly(path, "no permission to write")
        for file in (path, *(beside(path, suffix) for suffix in _SIDE_FILES)):
            if file.exists() and file.stat().st_mode & 0o777 != FILE_MODE:
                file.chmod(FILE_MODE)
    except PermissionError as error:
        raise StoreReadOnly(path, error.strerror or "no permission") from error
    except OSError as error:
        raise StoreUnavailable(path, error.strerror or str(error)) from error


def copy_before(path: Path, version: int) -> Path:
    """Return the copy of the database that is kept before a migration."""
    return beside(path, f"{_COPY}{version}")


def remove_copies(path: Path) -> None:
    """Remove the copies that were kept before migrations: they have texts that are deleted now."""
    copies = list(path.parent.glob(f"{glob.escape(path.name)}{_COPY}*"))
    for copy in copies:
        copy.unlink(missing_ok=True)
    if copies:
        sync_directory(path)


def sync_directory(path: Path) -> None:
    """Sync the directory of this file. SQLite removes its rollback journal, when a new database becomes one with a
    write-ahead log, without syncing; if the file came back after a power cut, it would undo everything since."""
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ProfileLock:
    """An advisory lock on a separate file. The kernel drops it when the process ends in any way; the file stays."""

    def __init__(self, path: Path) -> None:
        name = beside(path, ".lock")
        try:
            descriptor = os.open(name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
        except PermissionError as error:
            raise StoreReadOnly(path, "its lock cannot be taken: no permission") from error
        except OSError as error:
            raise StoreUnavailable(path, f"its lock cannot be taken: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).strip()
            os.close(descriptor)
            if not isinstance(error, BlockingIOError):
                raise StoreUnavailable(path, f"its lock cannot be taken: {error.strerror}") from error
            raise ProfileInUse(path, int(holder) if holder.isdigit() else None) from error
        self._descriptor = descriptor
        # On a full disk the lock holds too; only its holder's process id is then unknown to others.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_in_use(path: Path) -> bool:
    """True if a process holds the lock of this database."""
    try:
        descriptor = os.open(beside(path, ".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


class Reserve:
    """A file that reserves space, so that the program can end in good order when the disk is full."""

    def __init__(self, path: Path) -> None:
        self._path = beside(path, ".reserve")

    def held(self) -> bool:
        return self._path.exists()

    def take(self) -> bool:
        """Reserve the space, with bytes written, since a sparse file reserves nothing. False if there is no space."""
        if self.held() and self._path.stat().st_size == RESERVE_BYTES:
            return True
        try:
            descriptor = os.open(self._path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, FILE_MODE)
        except OSError:
            return False
        try:
            if os.write(descriptor, bytes(RESERVE_BYTES)) < RESERVE_BYTES:
                self.free()
                return False
        except OSError:
            self.free()
            return False
        finally:
            os.close(descriptor)
        return True

    def free(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()
