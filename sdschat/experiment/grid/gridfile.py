"""A grid: the settings to simulate, the number of seeds, and the figures to draw. `reading.py` reads grid files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sdschat.audit.problem import PipelineProblem
from sdschat.experiment.setting import WRONG_USE, GroupSetting

MOST_RUNS: Final = 1_000_000
EACH: Final = 2_048  # up to this size the model simulates each participant by itself


@dataclass(frozen=True, slots=True)
class Sweep:
    """Settings that differ in a few values. `axis` is the x axis of a plot; its lines differ in `lines`."""

    name: str
    says: str
    axis: str
    lines: tuple[str, ...]
    figures: tuple[str, ...]
    settings: tuple[GroupSetting, ...]
    seeds: int


@dataclass(frozen=True, slots=True)
class Grid:
    name: str
    title: str
    sweeps: tuple[Sweep, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One run. Several sweeps may share it."""

    setting: GroupSetting
    seed: int

    @property
    def key(self) -> str:
        return f"{self.setting.key()}-{self.seed}"


def runs_of(grid: Grid) -> list[Run]:
    """Return the runs of a grid, every run once."""
    count = sum(len(sweep.settings) * sweep.seeds for sweep in grid.sweeps)
    if count > MOST_RUNS:
        raise PipelineProblem(
            f"the grid {grid.name} cannot be used: it has {count:,} runs; at most {MOST_RUNS:,} make one grid.",
            WRONG_USE,
        )
    every = (Run(setting, seed) for sweep in grid.sweeps for setting in sweep.settings for seed in range(sweep.seeds))
    return list(dict.fromkeys(every))


def cost(setting: GroupSetting) -> float:
    """Estimate the seconds on one core: for the order of runs, and for the remaining time."""
    count, minutes = setting.participants, setting.until / 60_000
    if setting.by == "engine":
        return 0.02 + (2.9e-5 if setting.push else 1.4e-5) * count**2 * minutes
    if count <= EACH:
        return 0.02 + (3.4e-4 if setting.push else 1.1e-4) * count * minutes
    return 0.5 + (1.2e-5 if setting.push else 0.5e-5) * count * minutes
