"""Rows of one table, for writing them as they are read.

`sdschat_rows` is a Python data source with the columns of the table and `note`. After the rows of each file comes one
row with only a note about the file. If a folder is given, its tasks write the rows there, and return only notes.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow
from pyspark.sql.datasource import DataSource

from sdschat.audit.schemas import Quarantine, columns, ddl
from sdschat.audit.sources.databases import Reading
from sdschat.pipeline.sources.batch import ARROW
from sdschat.pipeline.sources.file_batches import ParsedInput, file_batches
from sdschat.pipeline.sources.part import ParquetPart, tidy
from sdschat.pipeline.sources.staged import FilesReader, tables_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME: Final = "sdschat_rows"


class Note(NamedTuple):
    source: str
    rows: int
    odd: bool  # the file contains something unreadable
    others: list[list[Any]]  # rows of the other requested table, which has few


class Wanted(NamedTuple):
    """The request: a table of some files, and another table with few rows."""

    paths: Sequence[str]
    table: type
    other: type | None
    run_id: str
    read_ms: int


def rows_of(spark: SparkSession, wanted: Wanted) -> DataFrame:
    return _load(spark, wanted, {})


def write_rows(spark: SparkSession, wanted: Wanted, folder: Path) -> list[Note]:
    """Write the rows to a folder that all tasks see as the same one. First remove incomplete files of others."""
    tidy(folder)
    options = {"into": str(folder), "token": uuid.uuid4().hex}
    return notes(row["note"] for row in _load(spark, wanted, options).collect())


def _load(spark: SparkSession, wanted: Wanted, more: dict[str, str]) -> DataFrame:
    spark.dataSource.register(Rows)
    tables = [each.__name__ for each in (wanted.table, wanted.other) if each]
    options = {
        "paths": json.dumps(list(wanted.paths)),
        "tables": json.dumps(tables),
        "run_id": wanted.run_id,
        "read_ms": str(wanted.read_ms),
        **more,
    }
    return spark.read.format(_NAME).options(**options).load()


def notes(lines: Iterable[str]) -> list[Note]:
    return [Note(*json.loads(line)) for line in lines]


class Rows(DataSource):
    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> str:
        options = dict(self.options)
        return "note STRING" if "into" in options else f"{ddl(tables_of(options)[0])}, note STRING"

    def reader(self, schema: Any) -> RowsReader:
        options = dict(self.options)
        return WritingReader(options) if "into" in options else RowsReader(options)


class RowsReader(FilesReader):
    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        memory = ParsedInput.of_process()
        for path in partition.value:
            yield from self._file(Reading(self.run_id, Path(path), self.read_ms, memory.open), memory)

    def _file(self, reading: Reading, memory: ParsedInput) -> Iterator[pyarrow.RecordBatch]:
        table, odd, count = self.tables[0], False, 0
        others: list[list[Any]] = []
        for batch in file_batches(reading, {*self.tables, Quarantine}, memory):
            if batch.table is table:
                count += batch.size
                yield _record_batch(table, batch.size, batch.columns)
            elif batch.table is Quarantine:
                odd = True
            else:
                names = list(columns(batch.table))
                others += [list(row) for row in zip(*(batch.columns[name].to_pylist() for name in names), strict=True)]
        note = json.dumps(Note(str(reading.path), count, odd, others))
        yield _record_batch(table, 1, {"note": pyarrow.array([note])})


class WritingReader(RowsReader):
    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.folder = Path(options["into"])
        self.token = options["token"]

    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        """Write the rows and yield the notes. A repeated task writes the same file again."""
        name = f"part-{self.token}-{blake2b(json.dumps(partition.value).encode(), digest_size=8).hexdigest()}"
        told = []
        with ParquetPart(self.folder / f"{name}.zstd.parquet") as part:
            for batch in super().read(partition):
                if batch["note"].null_count:
                    part.write(batch.drop_columns(["note"]))
                else:
                    told.append(batch.select(["note"]))
        yield from told


def _record_batch(table: type, count: int, given: Any) -> pyarrow.RecordBatch:
    kinds = {**{name: kind for name, (kind, _) in columns(table).items()}, "note": str}
    arrays = [given[name] if name in given else pyarrow.nulls(count, ARROW[kind]) for name, kind in kinds.items()]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(kinds))
