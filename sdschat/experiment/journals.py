"""Journals of simulated nodes in the form of the lake: audit, metrics and report treat them like real ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.audit.schemas import Blob, Ids, Journal, columns
from sdschat.store.journal import JournalRow

PLACE = "bronze/journal"
_TYPES: dict[object, Any] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    Blob: pa.binary(),
    Ids: pa.list_(pa.string()),
}
SCHEMA = pa.schema([(name, _TYPES[kind]) for name, (kind, _) in columns(Journal).items()])


def write_journal(rows: list[JournalRow], run_id: str, lake: Path) -> None:
    """Write one file for the run. Its name follows from the run, so a repeated run replaces it."""
    folder = lake / PLACE
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in SCHEMA.names if name in JournalRow._fields]
    table = {name: [getattr(row, name) for row in rows] for name in names}
    table["run_id"] = [run_id] * len(rows)
    table["extra"] = [None] * len(rows)
    write_whole(pa.table({name: table[name] for name in SCHEMA.names}, schema=SCHEMA), folder / f"sim-{run_id}.parquet")


def write_whole(table: Any, path: Path, **options: Any) -> None:
    """Write a file so that nobody sees it incomplete: readers of Parquet ignore names that begin with a dot."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, fresh, compression="zstd", **options)
    fresh.replace(path)
