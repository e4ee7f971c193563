"""Databases of each earlier schema: `python -m tests.store.old_schemas` saves one of the newest schema.

Run it once for every new migration, with the program that wrote that schema. A saved database is never written again:
if the program cannot read it any more, it cannot read the histories of its users.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

from sdschat.store.schema import MIGRATIONS
from sdschat.store.store import Store
from tests.store.samples import CODEC, Talk

FOLDER = Path(__file__).parent / "schemas"
_MESSAGES = 60


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


def main() -> int:
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
