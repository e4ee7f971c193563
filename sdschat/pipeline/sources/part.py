"""A Parquet file that appears only when it is complete, in a folder to which Spark writes too."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Final

import pyarrow
import pyarrow.parquet

from sdschat.pipeline.lake import UNLIKE

_OF_SPARK: Final = "_temporary"
_GROUP: Final = 64 << 20  # bytes in memory of one row group


class ParquetPart:
    """A file written batch by batch. Without batches there is no file.

    Nor is there a file if the process that started this task has ended: somebody else may have begun the same ingest.
    `outlives` is for a writer that is not a task, and goes on when the shell that started it has ended.
    """

    def __init__(self, path: Path, outlives: bool = False) -> None:
        self._path = path
        self._fresh = path.with_name(f".{path.name}.{os.getpid()}.new")  # no reader reads a file with such a name
        self._outlives = outlives
        self._parent = os.getppid()
        self._writer: pyarrow.parquet.ParquetWriter | None = None
        self._waiting: list[pyarrow.RecordBatch] = []
        self._size = 0

    def write(self, batch: pyarrow.RecordBatch) -> None:
        self._waiting.append(batch)
        self._size += batch.nbytes
        if self._size > _GROUP:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        rows = pyarrow.Table.from_batches(self._waiting)
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            like = [name for name in rows.column_names if name not in UNLIKE]
            self._writer = pyarrow.parquet.ParquetWriter(
                self._fresh, rows.schema, compression="zstd", use_dictionary=like, store_schema=False
            )
        self._writer.write_table(rows, row_group_size=rows.num_rows)
        self._waiting, self._size = [], 0

    def __enter__(self) -> ParquetPart:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._flush()
        if self._writer is not None:
            self._writer.close()
            if error is None and (self._outlives or os.getppid() == self._parent):
                self._fresh.replace(self._path)
            else:
                self._fresh.unlink(missing_ok=True)


def tidy(folder: Path) -> None:
    """Remove the files of killed writers, Spark's or ours. Call this only while nobody else writes there."""
    shutil.rmtree(folder / _OF_SPARK, ignore_errors=True)
    for left in folder.glob(".part-*.new"):
        left.unlink(missing_ok=True)
