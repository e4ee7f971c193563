"""Execution of one run, and the resulting row of `sim_runs`."""

from __future__ import annotations

import json
import math
import os
import shlex
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import sdschat
from sdschat.audit.errors import PipelineProblem
from sdschat.experiment.engine_group import EngineGroup
from sdschat.experiment.figures import figures_of
from sdschat.experiment.grid.gridfile import Run
from sdschat.experiment.setting import WRONG_USE, GroupSetting, setting_of
from sdschat.experiment.vector_model.run import run_model
from sdschat.store.journal import JournalRow, json_lines

VERSION: Final = sdschat.__version__
PLACE: Final = "gold/sim_runs.jsonl"
JOURNALS: Final = "journals"  # of engine runs, until they are taken into the lake


class SimRun(NamedTuple):
    """A line of `sim_runs`; the key is `run_id`. `figures` is JSON: name to number, if the figure applies."""

    run_id: str
    setting_id: str
    seed: int
    by: str
    rules: str
    participants: int
    loss: float
    messages: int
    setting: str  # JSON: the values that differ from the defaults
    failed: str  # the error; empty for a good run
    figures: str
    wall_s: float
    version: str

    @property
    def numbers(self) -> dict[str, float]:
        found: dict[str, float] = json.loads(self.figures)
        return found


_REVISION: Final = {"model": 5}  # raise it when the same setting and seed give other figures than before


def made_by(by: str) -> str:
    """Return the version that today's program writes into a run. A run with another version is outdated."""
    revision = _REVISION.get(by, 1)
    return VERSION + (f" {by} {revision}" if revision > 1 else "")


def do_run(run: Run, journal: Path | None = None) -> SimRun:
    """Do a run. Never raises: the row holds the error. `journal`: the folder for journal rows, if they are wanted."""
    began = time.perf_counter()
    failed, figures = "", {}
    try:
        figures = figures_for(run, journal)
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    s = run.setting
    return SimRun(
        run.key,
        s.key(),
        run.seed,
        s.by,
        s.rules,
        s.participants,
        s.loss,
        s.messages,
        json.dumps(s.changed(), sort_keys=True),
        failed,
        json.dumps({name: value for name, value in figures.items() if not math.isnan(value)}),
        round(time.perf_counter() - began, 3),
        made_by(s.by),
    )


def figures_for(run: Run, journal: Path | None = None) -> dict[str, float]:
    if run.setting.by == "model":
        return figures_of(run_model(run.setting, run.seed))
    group = EngineGroup(run.setting, run.seed)
    record = group.run()
    group.check_logs()
    if journal is not None and run.setting.journal:
        write_journal(group.journal, run.key, journal)
    return figures_of(record)


def write_journal(rows: list[JournalRow], run_id: str, folder: Path) -> None:
    """Write the journal of a run as an export, as `sdschat log --journal` does. A repeated run replaces it."""
    folder = folder / JOURNALS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"sim-{run_id}.jsonl"
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text("".join(f'{{"run_id":"{run_id}",{line[1:]}\n' for line in json_lines(rows)), "utf-8")
    fresh.replace(path)


def command_of(changed: Mapping[str, Any], seed: int) -> str:
    pairs = [f"{name}={json.dumps(value)}" for name, value in changed.items()] or ["by=model"]
    options = [part for pair in pairs for part in ("--with", pair)]
    return shlex.join(["sdschat", "simulate", *options, "--seed", str(seed)])


def setting_from(pairs: tuple[str, ...]) -> GroupSetting:
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        try:
            values[name.strip()] = tomllib.loads(f"value = {value}")["value"] if equals else None
        except tomllib.TOMLDecodeError:
            values[name.strip()] = value
        if not equals:
            raise PipelineProblem(f"--with {pair!r} is not NAME=VALUE, as in loss=0.1.", WRONG_USE)
    return setting_of(values)
