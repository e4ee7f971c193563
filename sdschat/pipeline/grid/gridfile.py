"""Grid files: which settings to simulate, and how often. TOML, as in the shipped ones in `files/`."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sdschat.pipeline.grid.setting import WRONG_USE, Setting, setting_of
from sdschat.pipeline.problem import PipelineProblem

SHIPPED: Final = Path(__file__).parent / "files"
_SEEDS: Final = 10
_MOST_RUNS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Sweep:
    """Settings that differ in few things. `axis` goes along a plot; `lines` are what its lines differ in."""

    name: str
    says: str
    axis: str
    lines: str
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
    """Every run once; the longest first, so that the last ones are short."""
    found = {
        run.key: run
        for sweep in grid.sweeps
        for setting in sweep.settings
        for seed in range(sweep.seeds)
        if (run := Run(setting, seed))
    }
    if len(found) > _MOST_RUNS:
        raise _wrong(grid.name, f"it has {len(found)} runs; at most {_MOST_RUNS} make one grid")
    return sorted(found.values(), key=lambda run: (-cost(run.setting), run.key))


def cost(setting: Setting) -> float:
    """Seconds on one core, very roughly: for estimates while it runs."""
    minutes = setting.until / 60_000
    if setting.by == "engine":
        return 0.01 + 7e-6 * setting.participants**2 * minutes
    return (
        0.05 + 2e-4 * setting.participants * (1 + setting.loss) + (4e-5 * setting.participants if setting.push else 0)
    )


def find_grid(name: str) -> Path:
    """A file, or a shipped grid by its name. Raises PipelineProblem."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = SHIPPED / f"{name.removesuffix('.toml')}.toml"
    if shipped.is_file():
        return shipped
    names = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.toml")))
    raise PipelineProblem(f"there is no grid file {name}; shipped are {names}.", WRONG_USE)


def read_grid(path: Path) -> Grid:
    """Raises PipelineProblem, with the name of the file and of what is wrong in it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _wrong(str(path), f"it cannot be read ({error})") from error
    base = data.get("base", {})
    sweeps = data.get("sweep", [])
    if not isinstance(base, dict) or not isinstance(sweeps, list) or not sweeps:
        raise _wrong(str(path), "it needs at least one [[sweep]], and [base] where all have something in common")
    seeds = data.get("seeds", _SEEDS)
    try:
        parsed = tuple(_sweep(sweep, base, seeds) for sweep in sweeps)
    except PipelineProblem as error:
        raise _wrong(str(path), str(error).rstrip(".")) from error
    return Grid(path.stem, str(data.get("title", path.stem)), parsed)


_OF_SWEEP: Final = ("name", "says", "axis", "lines", "figures", "seeds")


def _sweep(data: Mapping[str, Any], base: Mapping[str, Any], seeds: int) -> Sweep:
    about = {key: data[key] for key in _OF_SWEEP if key in data}
    values = {**base, **{key: value for key, value in data.items() if key not in _OF_SWEEP}}
    count = about.get("seeds", seeds)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise PipelineProblem(f"seeds is {count!r}, and must be 1 or more.", WRONG_USE)
    lists = {key: value if isinstance(value, list) else [value] for key, value in values.items()}
    settings = tuple(
        setting_of(dict(zip(lists, combination, strict=True))) for combination in itertools.product(*lists.values())
    )
    varied = [key for key, value in lists.items() if len(value) > 1]
    axis = str(about.get("axis", varied[0] if varied else "participants"))
    lines = str(about.get("lines", next((key for key in varied if key != axis), "")))
    return Sweep(
        str(about.get("name", axis)), str(about.get("says", "")), axis, lines, tuple(about.get("figures", ())),
        settings, count,
    )  # fmt: skip


def _wrong(name: str, what: str) -> PipelineProblem:
    return PipelineProblem(f"the grid {name} cannot be used: {what}.", WRONG_USE)
