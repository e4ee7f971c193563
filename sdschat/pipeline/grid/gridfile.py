"""What a grid says: which settings to simulate, how often, and what of it is drawn. `reading.py` reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sdschat.pipeline.grid.setting import WRONG_USE, Setting
from sdschat.pipeline.problem import PipelineProblem

MOST_RUNS: Final = 1_000_000
EACH: Final = 2_048  # the model knows up to so many participants one by one


@dataclass(frozen=True, slots=True)
class Sweep:
    """Settings that differ in few things. `axis` goes along a plot; `lines` are what its lines differ in."""

    name: str
    says: str
    axis: str
    lines: tuple[str, ...]
    figures: tuple[str, ...]
    settings: tuple[Setting, ...]
    seeds: int


@dataclass(frozen=True, slots=True)
class Grid:
    name: str
    title: str
    sweeps: tuple[Sweep, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One run. Sweeps may have some in common."""

    setting: Setting
    seed: int

    @property
    def key(self) -> str:
        return f"{self.setting.key()}-{self.seed}"


def runs_of(grid: Grid) -> list[Run]:
    """Every run once."""
    count = sum(len(sweep.settings) * sweep.seeds for sweep in grid.sweeps)
    if count > MOST_RUNS:
        raise PipelineProblem(
            f"the grid {grid.name} cannot be used: it has {count:,} runs; at most {MOST_RUNS:,} make one grid.",
            WRONG_USE,
        )
    every = (Run(setting, seed) for sweep in grid.sweeps for setting in sweep.settings for seed in range(sweep.seeds))
    return list(dict.fromkeys(every))


def cost(setting: Setting) -> float:
    """Seconds on one core, roughly: for the order of runs, and for estimates while they go on."""
    count, minutes = setting.participants, setting.until / 60_000
    if setting.by == "engine":
        return 0.02 + (2.9e-5 if setting.push else 1.4e-5) * count**2 * minutes
    if count <= EACH:
        return 0.02 + (3.4e-4 if setting.push else 1.1e-4) * count * minutes
    return 0.5 + (1.2e-5 if setting.push else 0.5e-5) * count * minutes
