"""`sdschat simulate --grid`, `--with` and `--compare`: figures of many runs, or of one; the model and the engine."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sdschat.audit.schemas import FIELD
from sdschat.cli.errors import WRONG_USE, CommandProblem, say
from sdschat.cli.output import counted
from sdschat.cli.spark.common import must_be_folder, open_spark

if TYPE_CHECKING:
    from sdschat.experiment.grid.compare import Case, Compared
    from sdschat.experiment.grid.gridfile import Grid
    from sdschat.experiment.grid.simulate import Progress, Work
    from sdschat.experiment.runs import SimRun
    from sdschat.experiment.setting import GroupSetting
    from sdschat.pipeline.session import SparkTarget


_LONG: Final = 10.0  # seconds that a run may take without a word
_NOTHING_KEPT: Final = "Nothing is kept; with --lake DIR the same command would go on where it was."
_LINE_EVERY: Final = 30.0  # seconds, if standard error is not a terminal but perhaps a log file


def run_grid(
    name: str, seeds: int | None, lake: Path, pictures: Path | None, jobs: int, target: SparkTarget | None
) -> int:
    from sdschat.experiment.grid.gridfile import find_grid, read_grid, runs_of
    from sdschat.experiment.grid.simulate import simulate
    from sdschat.experiment.grid.summary import table_lines

    grid = read_grid(find_grid(name), seeds)
    wanted = runs_of(grid)
    if pictures is not None:
        must_be_folder(pictures, "--pictures")
    with _workers(lake, jobs, target) as work, told() as tell:
        result = simulate(wanted, lake, work, tell)
    _take_journals(lake)
    print(*table_lines(grid, result.runs), sep="\n")
    for line in result.lines():
        say(line)
    _draw(grid, result.runs, pictures or lake / "pictures")
    return 1 if result.failures else 0


@contextlib.contextmanager
def _workers(lake: Path, jobs: int, target: SparkTarget | None) -> Iterator[Work]:
    from sdschat.experiment.grid.simulate import on_processes

    if target is None:
        yield on_processes(jobs, lake)
        return
    from sdschat.pipeline.runs_on_spark import on_spark

    with open_spark(target) as session:
        yield on_spark(session, lake.absolute())


@contextlib.contextmanager
def told(keep: bool = True) -> Iterator[Callable[[Progress, SimRun | None], None]]:
    """Report the progress, and a failed run at once, with the command that repeats that run alone."""
    from rich import progress as bars
    from rich.console import Console

    from sdschat.experiment.grid.simulate import failure_lines

    watched, kept, last = sys.stderr.isatty(), 0, time.monotonic()
    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.TimeElapsedColumn())
    bar = bars.Progress(*columns, console=Console(stderr=True), transient=True, disable=not watched)
    task = bar.add_task("")

    def tell(progress: Progress, row: SimRun | None) -> None:
        nonlocal kept, last
        kept = progress.before + progress.done - progress.failed
        bar.update(task, description=progress.line(), total=progress.cost, completed=progress.spent)
        for line in failure_lines(row) if row is not None and row.failed else ():
            say(line)
        if not watched and time.monotonic() - last >= _LINE_EVERY:
            last = time.monotonic()
            say(progress.line())

    with bar:
        try:
            yield tell
        except KeyboardInterrupt:
            bar.stop()
            same = f"{kept:,} {'run is' if kept == 1 else 'runs are'} kept: the same command does the rest."
            say(f"Interrupted. {same if keep else _NOTHING_KEPT}")
            raise


def _draw(grid: Grid, runs: list[SimRun], folder: Path) -> None:
    from sdschat.experiment.grid.page import write_page

    try:
        written = write_page(grid, runs, folder)
    except OSError as error:
        raise CommandProblem(
            f"{folder} cannot be written: {error.strerror}. The runs are kept: start again with another --pictures.",
            WRONG_USE,
        ) from error
    for path in written:
        say(f"wrote {path}")


def run_one(changes: tuple[str, ...], seed: int, lake: Path | None) -> int:
    """Run one setting and print its figures. Errors are raised, so that their details are kept as for any failure."""
    from sdschat.experiment.figures import FIGURES
    from sdschat.experiment.grid.gridfile import Run, cost
    from sdschat.experiment.runs import figures_for, setting_from
    from sdschat.experiment.setting import in_text

    if lake is not None:
        must_be_folder(lake, "--lake")
    setting = setting_from(changes)
    say(f"{setting.in_full()}, seed {seed}")
    if cost(setting) > _LONG:
        say(f"this may take {cost(setting):.0f} s")
    began = time.perf_counter()
    numbers = figures_for(Run(setting, seed), lake)
    for name, (unit, says) in FIGURES.items():
        if numbers[name] == numbers[name]:
            print(f"{name:20} {numbers[name]:14.4f} {unit:26} {says}")
    if numbers["unhealed"] > 0:
        say(f"some never got it in the time watched (tail={in_text('tail', setting.tail)}): times are at least so long")
    if lake is not None:
        _take_journals(lake)
    say(f"{time.perf_counter() - began:.1f} s")
    return 0


def _take_journals(lake: Path) -> None:
    from sdschat.experiment.runs import JOURNALS

    files = sorted((lake / JOURNALS).glob("sim-*.jsonl"))
    if not files:
        return
    from sdschat.lake.ingest import ingest
    from sdschat.lake.tables import Tables

    ingest(Tables(str(lake)), files, FIELD, time.time_ns() // 1_000_000)
    for file in files:
        file.unlink()


def run_comparison(
    sizes: Sequence[int],
    seeds: int | None,
    changes: tuple[str, ...],
    lake: Path | None,
    pictures: Path | None,
    jobs: int,
) -> int:
    from sdschat.experiment.grid.compare import cases, compared, engine_runs, model_runs
    from sdschat.experiment.grid.simulate import on_processes, simulate

    wanted = cases(sizes, seeds, _base(changes))
    if pictures is not None:
        must_be_folder(pictures, "--pictures")
    with told(keep=lake is not None) as tell:
        result = simulate([*engine_runs(wanted), *model_runs(wanted)], lake, on_processes(jobs, None), tell)
    if result.failures:
        runs = counted(len(result.runs), "run")
        raise CommandProblem(f"{len(result.failures)} of {runs} failed: there is nothing to compare.")
    found = compared(wanted, result.runs)
    for line in _lines(wanted, found):
        print(line)
    folder = pictures or (lake / "pictures" if lake else None)
    if folder:
        from sdschat.experiment.grid.page import write_comparison

        for path in write_comparison(wanted, found, folder):
            say(f"wrote {path}")
    return 0 if all(item.agrees for item in found) else 1


def _base(changes: tuple[str, ...]) -> GroupSetting | None:
    from sdschat.experiment.runs import setting_from
    from sdschat.experiment.setting import WRONG_USE

    if not changes:
        return None
    for name in ("by", "participants", "push", "journal"):
        if any(change.partition("=")[0].strip() == name for change in changes):
            raise CommandProblem(f"--compare sees to {name} itself; leave --with {name}=… out.", WRONG_USE)
    return setting_from((*changes, "by=engine"))


def _lines(wanted: Sequence[Case], found: Sequence[Compared]) -> list[str]:
    from sdschat.experiment.grid.compare import could_have_found, verdict_on

    said: list[str] = []
    shown = None
    for item in found:
        if item.setting != shown:
            shown = item.setting
            said += ["", shown.in_words(), f"{'':20} {'engine':>12} {'model':>12}  error bars"]
        said.append(item.line())
    return [*said, "", verdict_on(wanted, found), could_have_found(found)]
