"""The sources as one table for Spark: `sdschat` is a Python data source.

Every row names its table of the lake; columns of other tables are null. The log of a database is read at once, so all
its rows are of one moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from sdschat.audit.schemas import Declared, Journal, Message, Node, Packet, Quarantine
from sdschat.audit.sources.databases import Reading
from sdschat.pipeline.sources.batch import BatchShape
from sdschat.pipeline.sources.file_batches import ParsedInput, file_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES: Final[tuple[type, ...]] = (Journal, Message, Node, Declared, Packet, Quarantine)
NAME: Final = "sdschat"
_PART: Final = 8 << 20  # bytes of files for one task


class SomeFiles(InputPartition):
    """The files of one task. A task costs more than a small file, so one task reads several small files."""


def in_parts(paths: Sequence[str]) -> list[list[str]]:
    """Split the paths into one list for each task. A large file has a task of its own."""
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
    except OSError:  # it is missing, which its reader reports, or only the machine of its reader can see it
        return _PART


class Sources(DataSource):
    """The data source. Options: `paths` and `tables`, JSON lists; `run_id`; `read_ms`, the time of the reading."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return BatchShape(tables_of(dict(self.options))).ddl

    def reader(self, schema: Any) -> SourcesReader:
        return SourcesReader(dict(self.options))


def tables_of(options: dict[str, str]) -> list[type]:
    by_name = {table.__name__: table for table in TABLES}
    return [by_name[name] for name in json.loads(options["tables"])]


class FilesReader(DataSourceReader):
    """The common options of both data sources. Each task gets a part of the files."""

    def __init__(self, options: dict[str, str]) -> None:
        self.paths: list[str] = json.loads(options["paths"])
        self.tables = tables_of(options)
        self.run_id = options["run_id"]
        self.read_ms = int(options["read_ms"])

    def partitions(self) -> list[SomeFiles]:
        return [SomeFiles(paths) for paths in in_parts(self.paths)]


class SourcesReader(FilesReader):
    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        shape, memory = BatchShape(self.tables), ParsedInput.of_process()
        for path in partition.value:
            for batch in file_batches(Reading(self.run_id, Path(path), self.read_ms, memory.open), self.tables, memory):
                yield shape.record_batch(batch)


def load(spark: SparkSession, paths: Iterable[str], tables: Iterable[type], run_id: str, read_ms: int) -> DataFrame:
    """Return the rows in these files for these tables."""
    spark.dataSource.register(Sources)
    options = {
        "paths": json.dumps(list(paths)),
        "tables": json.dumps([table.__name__ for table in tables]),
        "run_id": run_id,
        "read_ms": str(read_ms),
    }
    return spark.read.format(NAME).options(**options).load()


def of_table(staged: DataFrame, table: type) -> DataFrame:
    """Staged rows -> the rows of one table, in its columns."""
    return staged.where(staged["table"] == table.__name__).select(*table.__annotations__)
