"""`sdschat simulate --compare`: a comparison of the model of large groups with the engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sdschat.cli.errors import CommandProblem, say
from sdschat.cli.output import counted
from sdschat.cli.spark.common import must_be_folder

if TYPE_CHECKING:
    from sdschat.experiment.grid.compare import Case, Compared
    from sdschat.experiment.setting import GroupSetting


def run_comparison(
    sizes: Sequence[int],
    seeds: int | None,
    changes: tuple[str, ...],
    lake: Path | None,
    pictures: Path | None,
    jobs: int,
) -> int:
    from sdschat.cli.simulate_grid import told
    from sdschat.experiment.grid.compare import cases, compared, engine_runs, model_runs
    from sdschat.experiment.grid.simulate import on_processes, simulate

    wanted = cases(sizes, seeds, _base(changes))
    if pictures is not None:
        must_be_folder(pictures, "--pictures")
    with told(keep=lake is not None) as tell:
        result = simulate([*engine_runs(wanted), *model_runs(wanted)], lake, on_processes(jobs, None), tell, jobs)
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
    base = setting_from((*changes, "by=engine"))
    return dataclasses.replace(base, by="model")


def _lines(wanted: Sequence[Case], found: Sequence[Compared]) -> list[str]:
    from sdschat.experiment.grid.compare import could_have_found, verdict_on

    said: list[str] = []
    shown = None
    for item in found:
        if item.setting != shown:
            shown = item.setting
            with_it = "with" if shown.push else "without"
            said += ["", f"{shown.participants} participants, {shown.loss:.0%} loss, {with_it} anti-entropy"]
            said.append(f"{'':20} {'engine':>12} {'model':>12}  error bars")
        said.append(item.line())
    return [*said, "", verdict_on(wanted, found), could_have_found(found)]
