"""The part of `sdschat simulate` that is about figures: grids, single runs, and whether the model is right."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sdschat.cli.options import say

if TYPE_CHECKING:
    from sdschat.pipeline.grid.gridfile import Grid
    from sdschat.pipeline.grid.runs import SimRun
    from sdschat.pipeline.grid.simulate import Progress
    from sdschat.pipeline.grid.workers import Work
    from sdschat.pipeline.session import Where

_SEEDS: Final = {10: 300, 100: 40, 1000: 6}  # of the engine, for groups of so many; it takes minutes


def run_grid(name: str, lake: str, pictures: str | None, jobs: int, where: Where | None) -> int:
    from sdschat.pipeline.grid.gridfile import find_grid, read_grid
    from sdschat.pipeline.grid.simulate import simulate
    from sdschat.pipeline.grid.summary import table_lines

    grid = read_grid(find_grid(name))
    folder = Path(lake)
    with _workers(folder, jobs, where) as work:
        try:
            result = simulate(grid, folder, work, _told)
        except KeyboardInterrupt:
            say("\nInterrupted. What is done is kept: the same command does the rest.")
            raise
    if sys.stderr.isatty():
        say("")
    print(*table_lines(grid, result.runs), sep="\n")
    for line in result.lines():
        say(line)
    _draw(grid, result.runs, Path(pictures) if pictures else folder / "pictures")
    return 1 if result.failures else 0


@contextlib.contextmanager
def _workers(lake: Path, jobs: int, where: Where | None) -> Iterator[Work]:
    from sdschat.pipeline.grid import workers

    if where is None:
        yield workers.on_processes(jobs, lake)
        return
    from sdschat.pipeline.session import spark

    with spark(where) as session:
        yield workers.on_spark(session, lake.absolute())


def _told(progress: Progress) -> None:
    if sys.stderr.isatty():
        print(f"\r{progress.line():60}", end="", file=sys.stderr, flush=True)


def _draw(grid: Grid, runs: list[SimRun], folder: Path) -> None:
    from sdschat.pipeline.grid.page import write_page

    for path in write_page(grid, runs, folder):
        say(f"wrote {path}")


def run_one(changes: tuple[str, ...], seed: int) -> int:
    from sdschat.pipeline.grid.figures import FIGURES
    from sdschat.pipeline.grid.gridfile import Run
    from sdschat.pipeline.grid.runs import do_run, setting_from

    row = do_run(Run(setting_from(changes), seed))
    if row.failed:
        say(f"failed: {row.failed}")
        return 1
    numbers = row.numbers
    for name, unit, says in FIGURES:
        if name in numbers:
            print(f"{name:20} {numbers[name]:14.4f} {unit:26} {says}")
    say(f"{row.wall_s:.1f} s")
    return 0


def run_comparison(participants: list[int], seeds: int | None, jobs: int) -> int:
    from sdschat.pipeline.grid.compare import cases, compare
    from sdschat.pipeline.grid.workers import on_processes

    counts = [seeds or _seeds_for(count) for count in participants]
    found = compare(cases(participants, counts), on_processes(jobs, None))
    shown = None
    for item in found:
        if item.setting != shown:
            shown = item.setting
            with_it = "with" if shown.push else "without"
            print(f"\n{shown.participants} participants, {shown.loss:.0%} loss, {with_it} anti-entropy")
            print(f"{'':20} {'engine':>12} {'model':>12}  error bars")
        print(item.line())
    wrong = sum(not item.agrees for item in found)
    print(f"\n{len(found)} figures compared, {wrong} differ by more than chance explains")
    return 1 if wrong else 0


def _seeds_for(participants: int) -> int:
    """Fewer where they take longer."""
    return next((count for size, count in sorted(_SEEDS.items()) if participants <= size), 3)
