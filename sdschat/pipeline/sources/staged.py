"""Sources as one table for Spark: `sdschat` is a Python data source, a task a file, one look at each file.

Every row says which table of the lake it belongs to; columns of other tables are null in it. So a database is opened
once, and what goes into the tables is of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
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


class OneFile(InputPartition):
    pass


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

    def partitions(self) -> list[OneFile]:
        return [OneFile(path) for path in self.paths]

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        reading = Reading(self.run_id, Path(partition.value), self.read_ms, PacketMemory())
        return batches(read_file(reading))
