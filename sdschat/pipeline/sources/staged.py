"""Sources as one table for Spark: `sdschat` is a Python data source.

Every row says which table of the lake it belongs to; columns of other tables are null in it. What is of a database's
log comes from one look at it, and so is of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from sdschat.pipeline.schemas import Declared, Journal, Message, Node, Packet, Quarantine
from sdschat.pipeline.sources.batch import Shape
from sdschat.pipeline.sources.databases import Reading
from sdschat.pipeline.sources.file_batches import Memory, file_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES: Final[tuple[type, ...]] = (Journal, Message, Node, Declared, Packet, Quarantine)
NAME: Final = "sdschat"
_PART: Final = 8 << 20  # bytes of files that one task reads


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
    """Options: `paths` and `tables`, JSON lists; `run_id`; `read_ms`, the moment of the reading."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return Shape(tables_of(dict(self.options))).ddl

    def reader(self, schema: Any) -> SourcesReader:
        return SourcesReader(dict(self.options))


def tables_of(options: dict[str, str]) -> list[type]:
    by_name = {table.__name__: table for table in TABLES}
    return [by_name[name] for name in json.loads(options["tables"])]


class FilesReader(DataSourceReader):
    """What both sources do with their options: the files, a part of them for each task."""

    def __init__(self, options: dict[str, str]) -> None:
        self.paths: list[str] = json.loads(options["paths"])
        self.tables = tables_of(options)
        self.run_id = options["run_id"]
        self.read_ms = int(options["read_ms"])

    def partitions(self) -> list[SomeFiles]:
        return [SomeFiles(paths) for paths in in_parts(self.paths)]


class SourcesReader(FilesReader):
    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        shape, memory = Shape(self.tables), Memory.of_process()
        for path in partition.value:
            for batch in file_batches(Reading(self.run_id, Path(path), self.read_ms, memory.open), self.tables, memory):
                yield shape.record_batch(batch)


def load(
    spark: SparkSession, paths: Iterable[str], tables: Iterable[type], run_id: str, read_ms: int
) -> DataFrame:  # fmt: skip
    """What is in these files for these tables."""
    spark.dataSource.register(Sources)
    options = {
        "paths": json.dumps(list(paths)), "tables": json.dumps([table.__name__ for table in tables]),
        "run_id": run_id, "read_ms": str(read_ms),
    }  # fmt: skip
    return spark.read.format(NAME).options(**options).load()


def of_table(staged: DataFrame, table: type) -> DataFrame:
    """Staged rows -> those of one table, in its columns."""
    return staged.where(staged["table"] == table.__name__).select(*table.__annotations__)
