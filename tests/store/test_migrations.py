"""Migration from every schema to the newest, in one step or interrupted, and never backwards."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sdschat.sds.values import (
    AnswerRow,
    ChannelRow,
    GapRow,
    HintRow,
    IncomingRow,
    MissingRow,
    OutgoingRow,
    PeerRow,
    PushRow,
)
from sdschat.store.errors import SchemaNewer, SchemaOlder, StoreDamaged
from sdschat.store.migrate import migrate, require_readable, schema_digest
from sdschat.store.schema import APPLICATION_ID, MIGRATIONS, OLDEST_READ, Migration
from sdschat.store.store import Store
from tests.store.old_schemas import TABLES, newest, unpack
from tests.store.samples import CODEC, Talk

if TYPE_CHECKING:
    from sqlite_utils import Database

NEWEST = MIGRATIONS[-1].number


def _mood(database: Database) -> None:
    database.table("draft").add_column("mood", str, not_null_default="calm")
    database.table("mood").create({"id": int, "name": str}, pk="id", strict=True)


def _half(database: Database) -> None:
    _mood(database)
    raise sqlite3.OperationalError("cut short")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of the newest schema with some rows."""
    file = tmp_path / "profiles" / "p" / "sdschat.db"
    talk = Talk()
    with Store.open(file, CODEC) as store:
        for _ in range(20):
            writes, rows, texts = talk.step()
            store.commit([("lobby", writes)], rows, texts)
    return file


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def _next(step: object = _mood) -> tuple[Migration, ...]:
    """The real migrations and an artificial one, with the digest after it."""
    number = MIGRATIONS[-1].number + 1
    digest = _digest_after([*(migration.apply for migration in MIGRATIONS), _mood])
    return (*MIGRATIONS, Migration(number, "moods", step, digest))  # type: ignore[arg-type]


def _digest_after(steps: Sequence[Callable[[Database], None]]) -> int:
    from sqlite_utils import Database

    scratch = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in steps:
            step(Database(scratch))
        return schema_digest(scratch)
    finally:
        scratch.close()


@pytest.mark.parametrize("migration", MIGRATIONS, ids=lambda migration: f"schema {migration.number}")
def test_every_migration_leads_to_the_schema_it_claims(migration: Migration, tmp_path: Path) -> None:
    digest = _digest_after([earlier.apply for earlier in MIGRATIONS[: migration.number]])
    assert migration.digest == digest, f"the digest of migration {migration.number} is {digest}"
    connection = _connect(tmp_path / "db")
    applied = migrate(connection, tmp_path / "db", MIGRATIONS[: migration.number])
    assert applied == [number + 1 for number in range(migration.number)]
    assert schema_digest(connection) == digest
    assert connection.execute("PRAGMA user_version").fetchone() == (migration.number,)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    connection.close()


def test_a_new_database_gets_what_all_migrations_make() -> None:
    assert TABLES.read_text() == newest(), "python -m tests.store.old_schemas writes it anew"


def test_all_tables_are_strict(path: Path) -> None:
    connection = _connect(path)
    loose = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 "
        "AND name NOT LIKE 'sqlite%'"
    ).fetchall()
    connection.close()
    assert loose == []


def test_an_older_database_is_migrated_and_a_copy_is_kept(path: Path) -> None:
    before = _dump(path)
    connection = _connect(path)
    assert migrate(connection, path, _next()) == [NEWEST + 1]
    assert connection.execute("SELECT mood FROM draft").fetchall() == []
    assert migrate(connection, path, _next()) == []
    connection.close()
    copy = path.with_name(f"sdschat.db.schema-{NEWEST}")
    assert copy.stat().st_mode & 0o777 == 0o600
    assert _dump(copy) == before
    assert not path.with_name(f"sdschat.db.schema-{NEWEST}.new").exists()
    with pytest.raises(SchemaNewer):
        Store.open(path, CODEC)


def test_a_migration_that_is_cut_short_changes_nothing_and_is_done_the_next_time(path: Path) -> None:
    before = _dump(path)
    connection = _connect(path)
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="cut short"):
            migrate(connection, path, _next(_half))
    connection.close()
    assert _dump(path) == before
    connection = _connect(path)
    assert migrate(connection, path, _next()) == [NEWEST + 1]
    connection.close()


def test_a_migration_that_leaves_rows_without_a_parent_does_not_count(path: Path) -> None:
    def orphans(database: Database) -> None:
        _mood(database)
        database.execute("DELETE FROM channel")

    before = _dump(path)
    connection = _connect(path)
    with pytest.raises(StoreDamaged, match="belong to nothing"):
        migrate(connection, path, _next(orphans))
    connection.close()
    assert _dump(path) == before


def test_a_newer_schema_is_refused_untouched(path: Path) -> None:
    connection = _connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    for open_it in (Store.open, Store.open_read_only):
        with pytest.raises(SchemaNewer, match=r"newer sdschat \(schema 99") as caught:
            open_it(path, CODEC)
        assert (caught.value.found, caught.value.exit_code) == (99, 5)
    assert path.read_bytes() == before


def test_an_older_schema_is_not_migrated_by_who_only_reads(path: Path) -> None:
    for number in range(1, OLDEST_READ):
        with pytest.raises(SchemaOlder, match="join a channel"):
            Store.open_read_only(unpack(number, path), CODEC)


@pytest.mark.parametrize("number", range(OLDEST_READ, MIGRATIONS[-1].number + 1))
def test_an_older_schema_that_lacks_indexes_alone_is_read_as_it_is(path: Path, number: int) -> None:
    before = unpack(number, path).read_bytes()
    with Store.open_read_only(path, CODEC) as reader:
        assert [info.messages for info in reader.channels()] == [60, 60]
        assert len(list(reader.messages("lobby"))) == 60
    assert path.read_bytes() == before


def test_a_schema_of_an_unfinished_program_is_not_taken_for_an_older_one(path: Path) -> None:
    connection = _connect(path)
    connection.execute("CREATE TABLE spy (a)")
    for open_it in (migrate, require_readable):
        with pytest.raises(StoreDamaged, match=r"an unfinished sdschat or another program.*--profile p .*--salvage"):
            open_it(connection, path)
    connection.close()


@pytest.mark.parametrize(
    "trick",
    [
        "CREATE TRIGGER spy AFTER INSERT ON log BEGIN DELETE FROM log; END",
        "CREATE VIEW spy AS SELECT * FROM log",
        "DROP INDEX log_id",
        "CREATE TABLE spy (a)",
        "ALTER TABLE gap RENAME COLUMN reason TO reasom",
        "ALTER TABLE search_config RENAME TO search_spare; CREATE VIEW search_config AS SELECT * FROM search_spare",
        "CREATE TRIGGER spy AFTER INSERT ON search_docsize BEGIN DELETE FROM log; END",
        "ALTER TABLE search_docsize ADD COLUMN more AS (hex(zeroblob(1 << 29)))",
    ],
)
def test_tables_that_no_migration_made_are_refused(path: Path, trick: str) -> None:
    connection = _connect(path)
    connection.executescript(trick)
    connection.close()
    for open_it in (Store.open, Store.open_read_only):
        with pytest.raises(StoreDamaged, match=f"its tables are not those of schema {NEWEST}:"):
            open_it(path, CODEC)


def test_every_column_of_the_engine_s_rows_has_its_column_here(path: Path) -> None:
    """New fields of the engine's rows need new columns: by a migration, once the schema was released."""
    kinds: dict[str, type] = {
        "channel_state": ChannelRow,
        "outgoing": OutgoingRow,
        "missing": MissingRow,
        "gap": GapRow,
        "answer": AnswerRow,
        "push": PushRow,
        "peer": PeerRow,
        "hint": HintRow,
        "held": IncomingRow,
    }
    connection = _connect(path)
    for table, kind in kinds.items():
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")} - {"place", "channel", "sum"}
        expected = set(kind._fields)  # type: ignore[attr-defined]
        if kind is IncomingRow:
            expected = expected - {"message", "source"} | {"message_id", "via"}
        assert columns == expected, table
    connection.close()


def test_pragmas_are_in_force(path: Path) -> None:
    with Store.open(path, CODEC) as store:
        expected = {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "trusted_schema": 0,
            "cell_size_check": 1,
            "secure_delete": 1,
        }
        found = {name: store.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in expected}
        assert found == expected
        assert store.connection.execute("PRAGMA mmap_size").fetchall() in ([], [(0,)])


def _dump(path: Path) -> list[str]:
    connection = _connect(path)
    lines = list(connection.iterdump())
    connection.close()
    return lines


def test_what_else_is_installed_does_not_come_along(tmp_path: Path) -> None:
    # sqlite-utils imports pandas where it finds it, which is most of the memory that a node needs.
    (tmp_path / "pandas.py").write_text("raise SystemExit('pandas was imported')\n")
    unpack(NEWEST - 1, tmp_path / "profile" / "sdschat.db")
    script = (
        "import sys; from pathlib import Path; from sdschat.store.store import Store\n"
        "from sdschat.wire.sds_codec import SdsCodec\n"
        f"Store.open(Path({str(tmp_path / 'profile' / 'sdschat.db')!r}), SdsCodec()).close()\n"
        "assert 'sqlite_utils' in sys.modules and 'pandas' not in sys.modules\n"
    )
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(root)))}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
