"""Connections to SQLite, with every pragma that safety rests on."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sdschat.store.errors import StoreReadOnly, StoreUnavailable, as_store_error
from sdschat.store.files import beside, require_file

_CACHE_KIB: Final = 8192
_BUSY_MS: Final = 5000
_READER_MS: Final = 20  # for a reader to end, where the program can go on without that
WAL_PAGES: Final = 4000  # ids are spread over their index, so a checkpoint of few commits writes as much as of many
_WAL_KEPT: Final = 32 * 1024 * 1024  # a larger -wal is cut back once a checkpoint has emptied it

# The file is not trusted: no function or table of ours runs because a schema says so, and cells are checked.
_UNTRUSTED: Final = ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", f"cache_size = -{_CACHE_KIB}")
_WRITER: Final = (
    "foreign_keys = ON",
    "secure_delete = ON",
    # NORMAL loses the last commits in a power cut; a message reported as saved must be on disk.
    "synchronous = FULL",
    f"wal_autocheckpoint = {WAL_PAGES}",
    f"journal_size_limit = {_WAL_KEPT}",
)
_IN_USE: Final = (".lock", "-wal", "-journal")  # one of these is beside every database that a node writes to


def open_writer(path: Path) -> sqlite3.Connection:
    """Return the one connection that writes. Transactions are begun and ended by hand."""
    is_new = not path.exists() or not path.stat().st_size
    connection = sqlite3.connect(path, timeout=_BUSY_MS / 1000, isolation_level=None, cached_statements=256)
    try:
        with as_store_error(path):
            # Before anything reads the schema.
            _set(connection, _UNTRUSTED)
            if is_new:  # so that empty pages can be given back while the node runs
                _set(connection, ("auto_vacuum = INCREMENTAL",))
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise StoreUnavailable(path, f"this file system allows no write-ahead log, only {mode}")
            _set(connection, _WRITER)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def without_waiting(connection: sqlite3.Connection) -> Iterator[None]:
    """Let statements fail soon where another connection is in the way: nothing else of the program runs meanwhile."""
    connection.execute(f"PRAGMA busy_timeout = {_READER_MS}")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")


def open_reader(path: Path) -> sqlite3.Connection:
    """Return a read-only connection, also while another process writes. Nothing is made beside a copy that no node
    uses."""
    if not path.exists():
        raise StoreUnavailable(path, "there is no such file")
    require_file(path)
    if not os.access(path, os.R_OK):
        raise StoreUnavailable(path, "no permission to read it; is it another user's?")
    if not any(beside(path, suffix).exists() for suffix in _IN_USE):
        return _connect_reader(path, "mode=ro&immutable=1")
    try:
        return _connect_reader(path, "mode=ro")
    except (StoreUnavailable, StoreReadOnly):
        # SQLite cannot put its shared memory into a read-only directory. It is needed only if another process may be
        # writing, and then there is a -wal.
        wal = beside(path, "-wal")
        if wal.exists() and wal.stat().st_size:
            raise
        return _connect_reader(path, "mode=ro&immutable=1")


def _connect_reader(path: Path, options: str) -> sqlite3.Connection:
    with as_store_error(path):
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(path.absolute()))}?{options}",
            uri=True,
            timeout=_BUSY_MS / 1000,
            isolation_level=None,
        )
        try:
            _set(connection, (*_UNTRUSTED, "query_only = ON"))
            connection.execute("PRAGMA schema_version").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection


def _set(connection: sqlite3.Connection, pragmas: tuple[str, ...]) -> None:
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")
