"""Ingest of databases and exported journals: few rows, and so many that start-up does not dominate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sdschat.audit.schemas import FIELD, Packet
from sdschat.audit.sources.databases import Reading
from sdschat.audit.sources.packets import Memory
from sdschat.lake.ingest import ingest
from sdschat.lake.tables import Tables
from sdschat.store.journal import json_lines
from sdschat.store.reader import Reader
from tests.lake.by_row import read_file
from tests.pipeline.bench_bars import Bar, Bars
from tests.pipeline.bench_data import make_databases
from tests.store.samples import CODEC

_NODES: Final = 10
_SMALLER: Final = 10
_DATABASES: Final = Bar(8, 150_000, "rows/s", least=True)
_EXPORTS: Final = Bar(8, 100_000, "rows/s", least=True)


def measure(bars: Bars, folder: Path, messages: int) -> None:
    """Measure the ingest. `messages`: in each large database, with one event for each message."""
    few = make_databases(folder / "few", _NODES, messages // _SMALLER)
    _in_plain_python(bars, few)
    _taken(bars, folder / "few-lake", few, "small databases", None)
    many = make_databases(folder / "many", _NODES, messages)
    exports = [_export(path, folder / f"{path.parent.name}.jsonl") for path in many]
    _taken(bars, folder / "exports-lake", exports, "exported journals", _EXPORTS)
    _taken(bars, folder / "many-lake", many, "databases", _DATABASES)


def _in_plain_python(bars: Bars, paths: Sequence[Path]) -> None:
    count = _rows_of(paths)
    with bars(f"{count:,} rows of {len(paths)} small databases, only read", "plain Python", count):
        assert _read(paths) == count


def _export(database: Path, to: Path) -> Path:
    with Reader.open(database, CODEC) as reader, to.open("w") as file:
        file.writelines(f"{line}\n" for line in json_lines(reader.journal()))
    return to


def _taken(bars: Bars, root: Path, paths: Sequence[Path], what: str, bar: Bar | None) -> None:
    tables = Tables(str(root))
    count = _rows_of(paths)
    with bars(f"{count:,} rows of {len(paths)} {what} into a lake", "DuckDB", count, bar):
        found = ingest(tables, paths, FIELD, 1)
    assert sum(row.added for row in found if row.table != "file") == count, found
    with bars(f"{len(paths)} {what}, the same once more", "DuckDB"):
        again = ingest(tables, paths, FIELD, 2)
    assert not any(row.added for row in again), again
    assert Packet not in tables


def _rows_of(paths: Sequence[Path]) -> int:
    """Return the number of rows in all files, which all have the same number."""
    return _read(paths[:1]) * len(paths)


def _read(paths: Sequence[Path]) -> int:
    memory = Memory(sized=True)
    return sum(1 for path in paths for row in read_file(Reading(FIELD, path, 1, memory)))
