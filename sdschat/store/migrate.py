"""Migration of a database to the schema of this program, forwards only.

Each migration is one transaction: if it is interrupted, the file is as before it or as after it. Before the first one a
copy of the file is kept beside it. A new database gets the tables of the newest schema at once, from `schema.sql`.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import get_data
from typing import NamedTuple
from zlib import crc32

from sdschat.store.errors import (
    SchemaNewer,
    SchemaOlder,
    StoreDamaged,
    StoreIncomplete,
    StoreUnavailable,
    as_store_error,
)
from sdschat.store.files import FILE_MODE, beside, copy_before, log_fault, sync_directory
from sdschat.store.schema import APPLICATION_ID, MIGRATIONS, OLDEST_READ, Migration

# SQLite words the inner tables of FTS5 itself, differently from version to version.
_OUTLINE = """
SELECT type, name, tbl_name, CASE WHEN type IN ('trigger', 'view') OR rootpage = 0 THEN sql END FROM sqlite_schema
WHERE tbl_name NOT LIKE 'search\\_%' ESCAPE '\\' ORDER BY type, name
"""
# But they are tables, with columns that are stored: a view in the place of one is computed as soon as FTS5 reads it.
_COMPUTED = """
SELECT 1 FROM sqlite_schema AS part WHERE tbl_name LIKE 'search\\_%' ESCAPE '\\' AND (type IN ('trigger', 'view')
OR type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_xinfo(part.name) WHERE hidden > 1)) LIMIT 1
"""
_DETAILS = (
    "SELECT * FROM pragma_table_xinfo(?)",
    "SELECT * FROM pragma_foreign_key_list(?)",
    'SELECT name, "unique", origin, partial FROM pragma_index_list(?) ORDER BY name',
    "SELECT strict, wr FROM pragma_table_list(?)",
)


def schema_digest(connection: sqlite3.Connection) -> int:
    """Return the CRC-32 of the definitions in the file: of their meaning, since tools word the same table
    differently."""
    outline = connection.execute(_OUTLINE).fetchall()
    found: list[object] = [outline]
    for kind, name, _, sql in outline:
        if kind == "table" and sql is None:
            found += [connection.execute(query, (name,)).fetchall() for query in _DETAILS]
        elif kind == "index":
            found.append(connection.execute("SELECT * FROM pragma_index_xinfo(?)", (name,)).fetchall())
    return crc32(repr(found).encode())


def schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the number of the last migration; 0 for an empty file. A database of another program is not touched."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    if application == APPLICATION_ID and version > 0:
        return version
    empty = not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    if application == 0 and version == 0 and empty:
        return 0
    if application == APPLICATION_ID:
        raise StoreDamaged(path, "its schema number is gone")
    raise StoreUnavailable(path, "it is not a database of sdschat")


class Upgrade(NamedTuple):
    """The migration of a database that an older program wrote, which happened when it was opened."""

    before: int  # the number of its schema
    now: int
    copy: Path  # of the database as it was before

    def in_words(self) -> str:
        return f"The database was upgraded from schema {self.before} to {self.now}. The old one is kept at {self.copy}."


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> list[int]:
    """Apply the migrations that are not applied yet; return their numbers."""
    known = migrations[-1].number
    with as_store_error(path):
        found = schema_version(connection, path)
        if found > known:
            raise SchemaNewer(path, found, known)
        pending = [migration for migration in migrations if migration.number > found]
        if found:
            _require_digest(connection, path, migrations[found - 1])
        if pending and found:
            keep_copy(connection, path, found)
        if tuple(pending) == MIGRATIONS:
            _create(connection, path)
        else:
            for migration in pending:
                _apply(connection, path, migration)
    return [migration.number for migration in pending]


def require_readable(connection: sqlite3.Connection, path: Path) -> None:
    """Check the schema for a reader. Raises `SchemaNewer`, `SchemaOlder` or `StoreDamaged`."""
    known = MIGRATIONS[-1].number
    with as_store_error(path):
        found = schema_version(connection, path)
        if found > known:
            raise SchemaNewer(path, found, known)
        if found:
            _require_digest(connection, path, MIGRATIONS[found - 1])
        if found < OLDEST_READ:
            if fault := log_fault(path, needed=not found):
                raise StoreIncomplete(path, fault)
            raise SchemaOlder(path, found, known)


def _require_digest(connection: sqlite3.Connection, path: Path, migration: Migration) -> None:
    """Raise `StoreDamaged` for a table, index, view or trigger that no migration made: it would run with our rights."""
    if connection.execute(_COMPUTED).fetchone() or schema_digest(connection) != migration.digest:
        raise StoreDamaged(
            path,
            f"its tables are not those of schema {migration.number}: an unfinished sdschat or another program made "
            "them, or they were altered",
        )


def keep_copy(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """Copy the database; the copy is complete and on disk before it gets its name."""
    final = copy_before(path, version)
    draft = beside(final, ".new")
    try:
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        try:
            copy = sqlite3.connect(draft)
            try:
                connection.backup(copy)
            finally:
                copy.close()
            with open(draft, "rb") as whole:
                os.fsync(whole)
            draft.replace(final)
        finally:
            draft.unlink(missing_ok=True)  # half a copy: where the disk is full, it would keep it full
        sync_directory(path)
    except OSError as error:
        raise StoreUnavailable(path, f"no copy can be kept before migrating: {error.strerror}") from error
    return final


@contextmanager
def _hide_modules(*modules: str) -> Iterator[None]:
    """Make these modules look absent. sqlite-utils imports them if they are installed, no migration needs them, and
    they would take 80 MiB as long as the program runs."""
    hidden = [name for name in modules if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def _create(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of the newest schema, as all migrations would, in a tenth of the time."""
    statements = (get_data("sdschat.store", "schema.sql") or b"").decode()
    with _transaction(connection, path, MIGRATIONS[-1]):
        for statement in statements.split(";\n"):
            connection.execute(statement)


def _apply(connection: sqlite3.Connection, path: Path, migration: Migration) -> None:
    with _hide_modules("pandas", "numpy"):
        from sqlite_utils import Database  # slow to import, and needed only here

    database = Database(connection, recursive_triggers=False, execute_plugins=False)
    # A migration may rebuild tables that others refer to; all references are checked before it counts.
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        with _transaction(connection, path, migration):
            migration.apply(database)
            if connection.execute("PRAGMA foreign_key_check").fetchall():
                raise StoreDamaged(path, f"rows that belong to nothing, after migration {migration.number}")
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


@contextmanager
def _transaction(connection: sqlite3.Connection, path: Path, migration: Migration) -> Iterator[None]:
    """Leave the database with the schema after a migration, or as it was."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute(f"PRAGMA user_version = {migration.number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _require_digest(connection, path, migration)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
