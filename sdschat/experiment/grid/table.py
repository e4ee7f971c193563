"""The table `sim_runs` on disk: Parquet files that appear only when they are complete."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.audit.lock import alone
from sdschat.audit.problem import PipelineProblem
from sdschat.experiment.runs import PLACE, SimRun

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}
SCHEMA = pa.schema([(name, _TYPES[kind]) for name, kind in get_type_hints(SimRun).items() if name in SimRun._fields])


class RunTable:
    def __init__(self, lake: Path) -> None:
        """Make the folder. Raises PipelineProblem if it cannot be written."""
        self.folder = lake / PLACE
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PipelineProblem(f"runs cannot be kept in {lake}: {error.strerror}. Name another folder.") from error
        self._parts = 0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the table: two commands with the same runs would repeat them, and remove each other's files."""
        busy = f"another `sdschat simulate` is writing to {self.folder}; wait for it, or name another --lake."
        with alone(self.folder / ".lock", busy):
            for left in self.folder.glob(".*.parquet.*"):  # left by a process that was killed while writing
                left.unlink(missing_ok=True)
            yield

    def read(self) -> dict[str, SimRun]:
        """Return the newest row of every run. Raises PipelineProblem if a file is damaged."""
        found: dict[str, SimRun] = {}
        for file in sorted(self.folder.glob("*.parquet")):
            try:
                rows = pq.read_table(file, schema=SCHEMA).to_pylist()
            except (pa.ArrowException, OSError) as error:
                raise PipelineProblem(
                    f"{file} cannot be read ({str(error).splitlines()[0]}); remove it, and its runs are done again."
                ) from error
            found.update((row["run_id"], SimRun(**row)) for row in rows)
        return found

    def append(self, rows: Sequence[SimRun]) -> None:
        if rows:
            self._parts += 1
            self._write(f"part-{time.time_ns()}-{os.getpid()}-{self._parts}.parquet", rows)

    def compact(self) -> None:
        """Merge many small files into one."""
        files = sorted(self.folder.glob("*.parquet"))
        if len(files) > 1:
            rows = list(self.read().values())
            self._write(f"part-{time.time_ns()}-all.parquet", rows)
            for file in files:
                file.unlink()

    def _write(self, name: str, rows: Iterable[SimRun]) -> None:
        table = pa.Table.from_pylist([row._asdict() for row in rows], schema=SCHEMA)
        fresh = self.folder / f".{name}.{os.getpid()}"  # readers of Parquet ignore names that begin with a dot
        pq.write_table(table, fresh, compression="zstd")
        fresh.replace(self.folder / name)
