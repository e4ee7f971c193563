"""Many runs on several processes, in no fixed order. Runs that the lake has are not repeated."""

from __future__ import annotations

import functools
import itertools
import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.processes import alone, spawned
from sdschat.audit.verdict import counted
from sdschat.experiment.grid.gridfile import Run, cost
from sdschat.experiment.runs import PLACE, SimRun, command_of, do_run, made_by

Work = Callable[[Sequence[Run]], Iterator[SimRun]]


def on_processes(jobs: int, journal: Path | None) -> Work:

    def work(runs: Sequence[Run]) -> Iterator[SimRun]:
        if jobs == 1 or len(runs) < 2:
            yield from (do_run(run, journal) for run in runs)
            return
        with spawned(min(jobs, len(runs))) as pool:
            yield from _each_done(pool, runs, functools.partial(do_run, journal=journal), 2 * jobs)

    return work


def _each_done(
    pool: ProcessPoolExecutor, runs: Sequence[Run], do: Callable[[Run], SimRun], most: int
) -> Iterator[SimRun]:
    """Yield results as they come. Few runs are given out at a time: if a process dies, PipelineProblem names them."""
    waiting = iter(runs)
    given: dict[Future[SimRun], Run] = {}
    try:
        while True:
            for run in itertools.islice(waiting, most - len(given)):
                given[pool.submit(do, run)] = run
            if not given:
                return
            for future in wait(given, return_when=FIRST_COMPLETED).done:
                row = future.result()
                del given[future]
                yield row
    except BrokenProcessPool as error:  # also of a submission, where it is known already
        raise _died(list(given.values()) or runs) from error


def _died(runs: Sequence[Run]) -> PipelineProblem:
    largest = max(runs, key=lambda run: run.setting.participants)
    return PipelineProblem(
        "a process that simulated was killed, as happens when memory runs out. What is done is kept; fewer --jobs need "
        f"less. The largest run being done, alone: {command_of(largest.setting.changed(), largest.seed)}"
    )


class RunTable:
    """A file of runs, one a line. Of several lines about one run the last counts. A process that is killed while it
    writes may leave half a line. Its run is done again."""

    def __init__(self, lake: Path) -> None:
        """Make the folder. Raises PipelineProblem if it cannot be written."""
        self.file = lake / PLACE
        self._lock = self.file.with_suffix(".lock")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._lock.touch()
        except OSError as error:
            raise PipelineProblem(f"runs cannot be kept in {lake}: {error.strerror}. Name another folder.") from error

    def alone(self) -> AbstractContextManager[None]:
        """Lock the table: two commands with the same runs would do them twice."""
        busy = f"another `sdschat simulate` is writing to {self.file}; wait for it, or name another --lake."
        return alone(self._lock, busy)

    def read(self) -> dict[str, SimRun]:
        found: dict[str, SimRun] = {}
        with suppress(FileNotFoundError), self.file.open("rb") as file:
            for line in file:
                with suppress(ValueError, TypeError):
                    row = SimRun(**json.loads(line))
                    found[row.run_id] = row
        return found

    def add(self, row: SimRun) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"\n{json.dumps(row._asdict())}")  # what a killed process wrote last has no end


class Progress:
    """The progress of runs. What is left is expected to take as long as what was done, by what they should cost."""

    def __init__(self, total: int, missing: Sequence[Run], clock: Callable[[], float] = time.monotonic) -> None:
        self.total = total
        self.before = total - len(missing)
        self.done = 0
        self.failed = 0
        self.cost = sum(cost(run.setting) for run in missing)
        self.spent = 0.0
        self._clock, self._began = clock, clock()

    def did(self, run: Run, row: SimRun) -> None:
        self.done += 1
        self.failed += bool(row.failed)
        self.spent += cost(run.setting)

    def line(self) -> str:
        text = f"{self.before + self.done}/{self.total} {'run' if self.total == 1 else 'runs'}"
        if self.failed:
            text += f", {self.failed} failed"
        if self.spent and self.before + self.done < self.total:
            seconds = (self._clock() - self._began) * (self.cost - self.spent) / self.spent
            text += f", about {spoken(seconds)} left"
        return text


def spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


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
    return [f"failed: {run.failed}", f"    again, alone: {command_of(json.loads(run.setting), run.seed)}"]


Told = Callable[[Progress, SimRun | None], None]


def simulate(wanted: Sequence[Run], lake: Path | None, work: Work, told: Told = lambda progress, row: None) -> Result:
    """Do the missing runs, the longest first, so that the last ones are short, and save the results as they come."""
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
        progress = Progress(len(wanted), missing)
        of = {run.key: run for run in missing}
        if missing:
            told(progress, None)
        for row in work(missing):
            known[row.run_id] = row
            if table:
                table.add(row)
            progress.did(of[row.run_id], row)
            told(progress, row)
    runs = [known[run.key] for run in wanted if run.key in known]
    return Result(runs, progress.before, outdated, time.monotonic() - began)
