"""Sources as one table for Spark: `sdschat` is a Python data source, one look at each file.

Every row says which table of the lake it belongs to; columns of other tables are null in it. So a database is opened
once, and what goes into the tables is of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from sdschat.pipeline.schemas import (
    SPARK_TYPES,
    Blob,
    Declared,
    Ids,
    Journal,
    Message,
    Node,
    Packet,
    Quarantine,
    columns,
)
from sdschat.pipeline.sources.databases import PacketMemory, Reading
from sdschat.pipeline.sources.files import read_file

TABLES: Final[tuple[type, ...]] = (Journal, Message, Node, Declared, Packet, Quarantine)
NAME: Final = "sdschat"
_ROWS: Final = 10_000  # a batch
_PART: Final = 8 << 20  # bytes of files that one task reads
ARROW: Final = {
    str: pyarrow.string(), int: pyarrow.int64(), bool: pyarrow.bool_(), float: pyarrow.float64(),
    Blob: pyarrow.binary(), Ids: pyarrow.list_(pyarrow.string()),
}  # fmt: skip


def _all_columns() -> dict[str, Any]:
    found: dict[str, Any] = {"table": str}
    for table in TABLES:
        for name, (kind, _) in columns(table).items():
            if found.setdefault(name, kind) != kind:
                raise TypeError(f"{table.__name__}.{name} has another type than in another table")
    return found


COLUMNS: Final = _all_columns()
DDL: Final = ", ".join(f"`{name}` {SPARK_TYPES[kind]}" for name, kind in COLUMNS.items())


def batches(rows: Iterable[Any]) -> Iterator[pyarrow.RecordBatch]:
    """Rows of any tables as Arrow, those of one table together."""
    waiting: dict[type, list[Any]] = {}
    for row in rows:
        held = waiting.setdefault(type(row), [])
        held.append(row)
        if len(held) >= _ROWS:
            yield _batch(type(row), waiting.pop(type(row)))
    for table, held in waiting.items():
        yield _batch(table, held)


def _batch(table: type, rows: Sequence[Any]) -> pyarrow.RecordBatch:
    values = dict(zip(columns(table), zip(*rows, strict=True), strict=True))
    values["table"] = (table.__name__,) * len(rows)
    arrays = [
        pyarrow.array(values[name], ARROW[kind]) if name in values else pyarrow.nulls(len(rows), ARROW[kind])
        for name, kind in COLUMNS.items()
    ]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(COLUMNS))


class SomeFiles(InputPartition):
    """Paths. A task costs more than a small file, so small files are read by one task together."""


def in_parts(paths: Sequence[str]) -> list[list[str]]:
    """Paths -> for each task its own. Large files stand alone."""
    found: list[list[str]] = []
    room = 0
    for size, path in sorted(((_size(path), path) for path in paths), reverse=True):
        if not found or size > room:
            found.append([])
            room = max(_PART, size)
        found[-1].append(path)
        room -= size
    return found


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:  # only its reader may see it, or it is not there, which is for the reader to say
        return _PART


class Sources(DataSource):
    """Options: `paths`, a JSON list; `run_id`; `read_ms`, the moment of the reading."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return DDL

    def reader(self, schema: Any) -> SourcesReader:
        return SourcesReader(dict(self.options))


class SourcesReader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        self.paths: list[str] = json.loads(options["paths"])
        self.run_id = options["run_id"]
        self.read_ms = int(options["read_ms"])

    def partitions(self) -> list[SomeFiles]:
        return [SomeFiles(paths) for paths in in_parts(self.paths)]

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        memory = PacketMemory()
        readings = (Reading(self.run_id, Path(path), self.read_ms, memory) for path in partition.value)
        return batches(chain.from_iterable(map(read_file, readings)))
