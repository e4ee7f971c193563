"""A file of Parquet that appears whole, in a folder to which Spark writes too."""

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
_GROUP: Final = 64 << 20  # bytes in memory of the rows that are written together


class Part:
    """Batches that come one after the other. Where there are none, there is no file; nor where whoever wanted it of a
    task is gone, as then somebody else may have begun to take in the same. `outlives`: written by who is no task, and
    goes on when the shell that started it has ended."""

    def __init__(self, path: Path, outlives: bool = False) -> None:
        self._path = path
        self._fresh = path.with_name(f".{path.name}.{os.getpid()}.new")  # of such a name nobody reads it
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

    def __enter__(self) -> Part:
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
    """What Spark, or one of its tasks, left when it was killed while writing. For whoever writes there alone."""
    shutil.rmtree(folder / _OF_SPARK, ignore_errors=True)
    for left in folder.glob(".part-*.new"):
        left.unlink(missing_ok=True)
