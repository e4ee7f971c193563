"""Many runs from beginning to end. Runs in the table `sim_runs` of the lake are not repeated."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from sdschat.audit.lock import alone
from sdschat.audit.problem import PipelineProblem
from sdschat.audit.verdict import counted
from sdschat.experiment.grid.gridfile import Run, cost
from sdschat.experiment.grid.progress import Pace, Progress, spoken
from sdschat.experiment.grid.workers import Work
from sdschat.experiment.runs import PLACE, SimRun, command_of, made_by

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


_SAVE_EVERY: Final = 2.0  # seconds


@dataclass(slots=True)
class Result:
    """The result of many runs. `outdated`: number of stored runs done by another version, and so repeated."""

    runs: list[SimRun]
    before: int
    outdated: int
    seconds: float

    @property
    def failures(self) -> list[SimRun]:
        return [run for run in self.runs if run.failed]

    def lines(self) -> list[str]:
        done = len(self.runs) - self.before
        runs = counted(len(self.runs), "run", "runs")
        said = [f"{runs}, {self.before} of them from before, {done} in {spoken(self.seconds)}"]
        if self.outdated:
            said[0] += f", {self.outdated} of those again since another version had done them"
        if self.failures:
            said.append(f"{len(self.failures)} failed; the same command tries them again")
        return said


def failure_lines(run: SimRun) -> list[str]:
    return [f"failed: {run.failed}", f"    again, alone: {command_of(run)}"]


Told = Callable[[Progress, SimRun | None], None]


def simulate(
    wanted: Sequence[Run],
    lake: Path | None,
    work: Work,
    told: Told = lambda progress, row: None,
    jobs: int = 1,
    in_waves: bool = False,
) -> Result:
    """Do the missing runs, the longest first, so that the last ones are short.

    Results are saved as they come, so that an interrupted command can be continued. Without a lake nothing is saved.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        table = RunTable(lake) if lake else None
        known: dict[str, SimRun] = {}
        if table:
            stack.enter_context(table.alone())
            known = table.read()
        good = {key for key, row in known.items() if not row.failed and row.version == made_by(row.by)}
        missing = sorted((run for run in wanted if run.key not in good), key=lambda run: (-cost(run.setting), run.key))
        outdated = sum(run.key in known and not known[run.key].failed for run in missing)
        progress = Progress(len(wanted), missing, Pace.of(known.values()), jobs, in_waves)
        for row in _worked_off(missing, work, table, progress, told):
            known[row.run_id] = row
        if table:
            table.compact()
    runs = [known[run.key] for run in wanted if run.key in known]
    return Result(runs, progress.before, outdated, time.monotonic() - began)


def _worked_off(
    missing: Sequence[Run], work: Work, table: RunTable | None, progress: Progress, told: Told
) -> list[SimRun]:
    of = {run.key: run for run in missing}
    rows: list[SimRun] = []
    saved, saved_at = 0, -_SAVE_EVERY
    if missing:
        told(progress, None)
    try:
        for row in work(missing):
            rows.append(row)
            progress.did(of[row.run_id], row)
            told(progress, row)
            if table and time.monotonic() - saved_at > _SAVE_EVERY:
                table.append(rows[saved:])
                saved, saved_at = len(rows), time.monotonic()
    finally:
        if table:
            table.append(rows[saved:])
    return rows
