"""The table `sim_runs` on disk: Parquet files that only ever appear whole."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.pipeline.grid.runs import PLACE, SimRun

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}
SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in get_type_hints(SimRun).items() if name in SimRun._fields])


class RunTable:
    def __init__(self, lake: Path) -> None:
        self.folder = lake / PLACE
        self.folder.mkdir(parents=True, exist_ok=True)
        self._parts = 0

    def read(self) -> dict[str, SimRun]:
        """Every run once, the newest row of it."""
        found: dict[str, SimRun] = {}
        for file in sorted(self.folder.glob("*.parquet")):
            for row in pq.read_table(file, schema=SCHEMA).to_pylist():
                found[row["run_id"]] = SimRun(**row)
        return found

    def append(self, rows: Sequence[SimRun]) -> None:
        if rows:
            self._parts += 1
            self._write(f"part-{time.time_ns()}-{os.getpid()}-{self._parts}.parquet", rows)

    def compact(self) -> None:
        """Many small files into one."""
        files = sorted(self.folder.glob("*.parquet"))
        if len(files) > 1:
            rows = list(self.read().values())
            self._write(f"part-{time.time_ns()}-all.parquet", rows)
            for file in files:
                file.unlink()

    def _write(self, name: str, rows: Iterable[SimRun]) -> None:
        table = pa.Table.from_pylist([row._asdict() for row in rows], schema=SCHEMA)
        write_whole(table, self.folder / name)


def write_whole(table: Any, path: Path, **options: Any) -> None:
    """So that nobody ever sees a part of it; names that begin with a dot are looked at by no reader of Parquet."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(table, fresh, compression="zstd", **options)
    fresh.replace(path)
