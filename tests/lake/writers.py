"""Two ingests into one lake at once, again and again: no row is lost, and none is there twice.

    python -m tests.lake.writers --times 100

Each takes a part of the same databases and exported journals, and most files are in both parts.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sdschat.audit.schemas import FIELD, Journal, Message, Node
from sdschat.lake.ingest import ingest
from sdschat.lake.tables import Tables
from sdschat.store.journal import json_lines
from sdschat.store.reader import Reader
from tests.lake.bronze import rows_in
from tests.pipeline.bench_data import make_databases
from tests.store.samples import CODEC


def take(lake: str, paths: Sequence[Path], read_ms: int) -> int:
    """Ingest the files, and return how many rows were added."""
    return sum(row.added for row in ingest(Tables(lake), paths, FIELD, read_ms) if row.table != "file")


def sources(folder: Path) -> Iterator[Path]:
    """Yield databases, and the older halves of their journals as exports."""
    for path in make_databases(folder, 4, 60):
        yield path
        export = folder / f"{path.parent.name}.jsonl"
        with Reader.open(path, CODEC) as reader:
            rows = list(reader.journal())
        export.write_text("".join(f"{line}\n" for line in json_lines(rows[: len(rows) // 2])), "utf-8")
        yield export


def there(lake: str) -> dict[str, Counter[Any]]:
    """Count the rows of a lake, without the time at which each was read."""
    tables = Tables(lake)
    plain = {"read_ms": 0, "v": 0}
    return {
        table.__name__: Counter(
            row._replace(**{name: value for name, value in plain.items() if name in row._fields})
            for row in rows_in(tables, table)
        )
        for table in (Journal, Message, Node)
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, both = random.Random(options.seed), 0
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor(2, get_context("spawn")) as pool:
        folder = Path(scratch)
        files = list(sources(folder / "files"))
        take(str(folder / "one writer"), files, 1)
        wanted = there(str(folder / "one writer"))
        for at in range(options.times):
            lake = str(folder / f"lake {at}")
            left = draw.sample(files, len(files) - 2)
            right = [*(path for path in files if path not in left), *draw.sample(left, len(left) - 1)]
            writers = [pool.submit(take, lake, paths, read_ms) for read_ms, paths in enumerate((left, right), 1)]
            added = [writer.result(300) for writer in writers]
            both += all(added)
            assert there(lake) == wanted, f"time {at}: {added}"
    print(f"{options.times} times two writers: all rows once; {both} times both added some")
    return 0


if __name__ == "__main__":
    sys.exit(main())
