"""A disk that remembers the order of its operations, and its possible contents after a power cut.

Data that was written and not synced may be there or not, in pieces of a sector each, in any combination. Synced data is
there. A file that was cut or removed may still have its length, or exist, until the next sync.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

import apsw

from sdschat.store.files import ProfileLock, prepare_directory, sync_directory
from sdschat.store.journal_writer import JournalSettings
from sdschat.store.migrate import migrate
from sdschat.store.store import Store
from tests.store.samples import CODEC

SECTOR = 512
VFS_NAME = "sdschat-recorder"


class Operation(NamedTuple):
    """One operation of the disk: `what` is write, truncate, sync, delete, directory (sync of it), or said (the caller
    was told that so many steps are saved)."""

    what: str
    file: str
    offset: int = 0
    data: bytes = b""


SYNC_DIRECTORY = Operation("directory", "")


class RecordingFile(apsw.VFSFile):
    def __init__(self, record: list[Operation], inherit: str, name: Any, flags: list[int]) -> None:
        super().__init__(inherit, name, flags)
        self._record = record
        self._file = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary").name

    def xWrite(self, data: bytes, offset: int) -> None:
        self._record.append(Operation("write", self._file, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._record.append(Operation("truncate", self._file, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._record.append(Operation("sync", self._file))
        super().xSync(flags)


class Recorder(apsw.VFS):
    """A VFS that carries out every operation and keeps a list of them."""

    def __init__(self) -> None:
        self.record: list[Operation] = []
        super().__init__(VFS_NAME, "")

    def xOpen(self, name: Any, flags: list[int]) -> RecordingFile:
        return RecordingFile(self.record, "", name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.record.append(Operation("delete", Path(filename).name))
        if syncdir:
            self.record.append(SYNC_DIRECTORY)
        super().xDelete(filename, syncdir)


class RecordedConnection:
    """The methods of `sqlite3.Connection` that the writing side of the store uses, over the recorder."""

    def __init__(self, path: Path, synchronous: str) -> None:
        self.recorder = Recorder()
        self._apsw = apsw.Connection(str(path), vfs=VFS_NAME)
        # Without shared memory, which a VFS in Python cannot give: the same writes and syncs.
        for pragma in (
            "locking_mode = EXCLUSIVE",
            "journal_mode = WAL",
            "foreign_keys = ON",
            "secure_delete = ON",
            f"synchronous = {synchronous}",
            "wal_autocheckpoint = 100",
        ):
            self._apsw.execute(f"PRAGMA {pragma}").fetchall()

    @property
    def in_transaction(self) -> bool:
        return self._apsw.in_transaction

    def execute(self, sql: str, values: Any = ()) -> apsw.Cursor:
        return self._apsw.execute(sql, values)

    def executemany(self, sql: str, values: Any) -> None:
        self._apsw.executemany(sql, values)

    def close(self) -> None:
        self._apsw.close()


def recorded_store(path: Path, synchronous: str) -> tuple[Store, list[Operation]]:
    """Make a database. Return it, and the operations of the disk, to which more are added."""
    prepare_directory(path)
    recorded = RecordedConnection(path, synchronous)
    connection = cast(sqlite3.Connection, recorded)
    record = recorded.recorder.record
    sync_directory(path)
    record.append(SYNC_DIRECTORY)
    migrate(connection, path)
    return Store(path, CODEC, connection, ProfileLock(path), JournalSettings("me", "boot")), record


class _File:
    """The synced content of the disk, and the operations that are not synced yet."""

    def __init__(self) -> None:
        self.safe = bytearray()
        self.there = False
        self.pending: list[Operation] = []

    def settle(self) -> None:
        for operation in self.pending:
            self._do(self.safe, operation)
            self.there = operation.what != "delete"
        self.pending.clear()

    def after(self, random: Random, how: str) -> bytes | None:
        """The file after a power cut: with none, all or some of the operations that were not synced."""
        image = bytearray(self.safe)
        for operation in self.pending:
            for piece in _sectors(operation):
                if how == "all" or (how == "some" and random.random() < 0.5):
                    self._do(image, piece)
        return bytes(image) if self.there or image else None

    @staticmethod
    def _do(image: bytearray, operation: Operation) -> None:
        if operation.what == "truncate":
            del image[operation.offset :]
            return
        if operation.what == "delete":
            image.clear()
            return
        end = operation.offset + len(operation.data)
        if len(image) < end:
            image.extend(bytes(end - len(image)))
        image[operation.offset : end] = operation.data


def _sectors(operation: Operation) -> Iterator[Operation]:
    """A write, cut into pieces at the borders of sectors."""
    if operation.what != "write":
        yield operation
        return
    at, data = operation.offset, operation.data
    while data:
        size = SECTOR - at % SECTOR
        yield Operation("write", operation.file, at, data[:size])
        at, data = at + size, data[size:]


class State(NamedTuple):
    """A possible content of the disk after a power cut, and the number of steps reported as saved by then."""

    files: dict[str, bytes]
    said: int
    at: int


def states(record: list[Operation], random: Random, each: int) -> Iterator[State]:
    """States of the disk after every operation: with none, all, and `each - 2` times some of the operations not
    synced."""
    disk: dict[str, _File] = {}
    said = 0
    for at, operation in enumerate(record):
        if operation.what == "said":
            said = operation.offset
            continue
        if operation.what == "directory":
            for known in disk.values():
                if known.pending and known.pending[-1].what == "delete":
                    known.settle()
            continue
        file = disk.setdefault(operation.file, _File())
        if operation.what == "sync":
            file.settle()
        else:
            file.pending.append(operation)
        for turn in range(each):
            how = ("none", "all", "some")[min(turn, 2)]
            files = {name: image for name, known in disk.items() if (image := known.after(random, how)) is not None}
            yield State(files, said, at)
