"""Databases of each earlier schema: `python -m tests.store.old_schemas` saves one of the newest schema, and writes the
tables of that schema into `sdschat/store/schema.sql`.

Run it once for every new migration, with the program that wrote that schema. A saved database is never written again:
if the program cannot read it any more, it cannot read the histories of its users.
"""

from __future__ import annotations

import gzip
import sqlite3
import sys
import tempfile
from pathlib import Path

from sqlite_utils import Database

import sdschat.store
from sdschat.store.schema import MIGRATIONS
from sdschat.store.store import Store
from tests.store.samples import CODEC, Talk

FOLDER = Path(__file__).parent / "schemas"
TABLES = Path(sdschat.store.__file__).with_name("schema.sql")
_MESSAGES = 60
_HEAD = (
    "-- The tables of a new database, as the migrations of schema.py leave them: `python -m tests.store.old_schemas`.\n"
)
_STATEMENTS = """
SELECT sql FROM sqlite_schema WHERE sql NOT NULL AND name NOT LIKE 'search~_%' ESCAPE '~'
ORDER BY tbl_name, type DESC, name
"""


def kept(number: int) -> Path:
    return FOLDER / f"{number}.db.gz"


def unpack(number: int, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.decompress(kept(number).read_bytes()))
    return target


def write(path: Path) -> None:
    """Write rows into as many tables as a conversation fills."""
    lobby, attic = Talk(), Talk("attic", 2)
    with Store.open(path, CODEC) as store:
        for _ in range(_MESSAGES):
            for talk in (lobby, attic):
                writes, rows, texts = talk.step()
                store.commit([(talk.channel, writes)], rows, texts)
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def newest() -> str:
    """Return the statements that make all tables at once."""
    scratch = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for migration in MIGRATIONS:
            migration.apply(Database(scratch))
        return _HEAD + ";\n".join(sql for (sql,) in scratch.execute(_STATEMENTS)) + "\n"
    finally:
        scratch.close()


def main() -> int:
    TABLES.write_text(newest())
    target = kept(MIGRATIONS[-1].number)
    if target.exists():
        print(f"{target} is there already, and stays as it is.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile" / "sdschat.db"
        write(path)
        target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    print(target)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
