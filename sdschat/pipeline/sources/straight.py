"""Rows of one table as they stand in the files, for writing them down as they are read. `sdschat_rows` is a Python data
source of the table's columns and `note`: after the rows of each file comes one that has nothing but a note about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow
from pyspark.sql.datasource import DataSource

from sdschat.pipeline.schemas import Quarantine, columns, ddl
from sdschat.pipeline.sources.batch import ARROW
from sdschat.pipeline.sources.databases import Reading
from sdschat.pipeline.sources.file_batches import Memory, file_batches
from sdschat.pipeline.sources.staged import FilesReader, tables_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME: Final = "sdschat_rows"


class Note(NamedTuple):
    source: str
    rows: int
    odd: bool  # there is something in the file that cannot be taken
    others: list[list[Any]]  # rows of the other table that was asked for, which has few


def rows_of(
    spark: SparkSession, paths: Iterable[str], table: type, run_id: str, read_ms: int, other: type | None = None
) -> DataFrame:
    spark.dataSource.register(Rows)
    options = {
        "paths": json.dumps(list(paths)), "tables": json.dumps([each.__name__ for each in (table, other) if each]),
        "run_id": run_id, "read_ms": str(read_ms),
    }  # fmt: skip
    return spark.read.format(_NAME).options(**options).load()


def notes(lines: Iterable[str]) -> list[Note]:
    return [Note(*json.loads(line)) for line in lines]


class Rows(DataSource):
    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> str:
        return f"{ddl(tables_of(dict(self.options))[0])}, note STRING"

    def reader(self, schema: Any) -> RowsReader:
        return RowsReader(dict(self.options))


class RowsReader(FilesReader):
    def read(self, partition: Any) -> Iterator[pyarrow.RecordBatch]:
        memory = Memory.of_process()
        for path in partition.value:
            yield from self._file(Reading(self.run_id, Path(path), self.read_ms, memory.open), memory)

    def _file(self, reading: Reading, memory: Memory) -> Iterator[pyarrow.RecordBatch]:
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


def _record_batch(table: type, count: int, given: Any) -> pyarrow.RecordBatch:
    kinds = {**{name: kind for name, (kind, _) in columns(table).items()}, "note": str}
    arrays = [given[name] if name in given else pyarrow.nulls(count, ARROW[kind]) for name, kind in kinds.items()]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(kinds))
