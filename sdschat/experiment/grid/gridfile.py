"""A grid: the settings to simulate, the number of seeds, and the figures to draw; and grid files, in TOML."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sdschat.audit.errors import PipelineProblem
from sdschat.experiment.figures import NAMES
from sdschat.experiment.setting import SETTINGS, WRONG_USE, GroupSetting, instead_of, setting_of, wrong
from sdschat.identity.handwritten import TomlError, read_toml

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


SHIPPED: Final = Path(__file__).parent / "files"
_SEEDS: Final = 10
_OF_GRID: Final = ("title", "seeds", "base", "sweep")
_OF_SWEEP: Final = ("name", "says", "axis", "lines", "figures", "seeds")
_USUAL_FIGURES: Final = ("healed_p50", "duplicates_per_loss", "copy_bytes")


def find_grid(name: str) -> Path:
    """Return the path of a grid: a file, or a shipped grid by its name. Raises PipelineProblem."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = SHIPPED / f"{name.removesuffix('.toml')}.toml"
    if shipped.is_file() and shipped.parent == SHIPPED:
        return shipped
    names = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.toml")))
    kind = f"{name} is a folder" if name and path.is_dir() else f"there is no grid file {name!r}"
    raise PipelineProblem(f"{kind}; give a TOML file, or one that is shipped: {names}.", WRONG_USE)


def read_grid(path: Path, seeds: int | None = None) -> Grid:
    """Read a grid file; `seeds` replaces its number of seeds. Raises PipelineProblem, which names file and error."""
    try:
        return _grid(path, read_toml(path), seeds)
    except TomlError as error:
        raise _unusable(path, f"it cannot be read ({error})") from error
    except PipelineProblem as error:
        raise _unusable(path, str(error).rstrip(".")) from error


def _unusable(path: Path, what: str) -> PipelineProblem:
    return PipelineProblem(f"the grid {path} cannot be used: {what}.", WRONG_USE)


def _grid(path: Path, data: Mapping[str, Any], seeds: int | None) -> Grid:
    for key in data:
        if key not in _OF_GRID:
            raise wrong(f"{key!r} is not known; at the top there may be {', '.join(_OF_GRID)}")
    base, sweeps = data.get("base", {}), data.get("sweep", [])
    if not isinstance(base, dict):
        raise wrong("base is no table; write [base], and settings below it")
    if isinstance(sweeps, dict):
        raise wrong("[sweep] is written with two brackets, [[sweep]], since there may be several")
    if not isinstance(sweeps, list) or not sweeps:
        raise wrong("it needs at least one [[sweep]], and [base] where all have something in common")
    misplaced = [key for key in base if key in _OF_SWEEP]
    if misplaced:
        raise wrong(f"{misplaced[0]} goes into a [[sweep]], and seeds also to the top, but not into [base]")
    usual = data.get("seeds", _SEEDS)
    parsed: list[Sweep] = []
    for number, sweep in enumerate(sweeps, 1):
        try:
            parsed.append(_sweep(sweep, base, usual, seeds))
        except PipelineProblem as error:
            raise wrong(f"in sweep {number}, {str(error).rstrip('.')}") from error
    names = [sweep.name for sweep in parsed]
    for name in names:
        if names.count(name) > 1:
            raise wrong(f"two sweeps are called {name!r}; give each a name of its own, as its plots are named by it")
    return Grid(path.stem, _text(data, "title", path.stem), tuple(parsed))


def _sweep(data: object, base: Mapping[str, Any], usual: object, seeds: int | None) -> Sweep:
    if not isinstance(data, dict):
        raise wrong("which is no table; write [[sweep]], and settings below it")
    values = {**base, **{key: value for key, value in data.items() if key not in _OF_SWEEP}}
    lists = {key: value if isinstance(value, list) else [value] for key, value in values.items()}
    for key, value in lists.items():
        if not value:
            raise wrong(f"{key} is an empty list")
    count = seeds or _count(data.get("seeds", usual))
    if math.prod(map(len, lists.values())) > MOST_RUNS:
        raise wrong(f"the lists multiply to more than {MOST_RUNS:,} settings")
    settings = tuple(setting_of(dict(zip(lists, each, strict=True))) for each in itertools.product(*lists.values()))
    varied = [key for key, value in lists.items() if len(value) > 1]
    axis = _known(data.get("axis", varied[0] if varied else "participants"), SETTINGS, "axis", "setting")
    lines = [_known(name, SETTINGS, "lines", "setting") for name in _texts(data, "lines")]
    lines += [key for key in varied if key not in (axis, *lines)]
    figures = [_known(name, NAMES, "figures", "figure") for name in _texts(data, "figures")]
    return Sweep(
        _text(data, "name", axis),
        _text(data, "says", ""),
        axis,
        tuple(lines),
        tuple(figures or _USUAL_FIGURES),
        settings,
        count,
    )


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise wrong(f"seeds is {value!r}, and must be a whole number from 1 on")
    return value


def _text(data: Mapping[str, Any], key: str, usual: str) -> str:
    value = data.get(key, usual)
    if not isinstance(value, str):
        raise wrong(f"{key} is {value!r}, and must be a text in quotes")
    return value


def _texts(data: Mapping[str, Any], key: str) -> list[str]:
    value = data.get(key, [])
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in found):
        raise wrong(f"{key} is {value!r}, and must be a text in quotes, or a list of such")
    return found


def _known(name: object, there_are: Iterable[str], key: str, kind: str) -> str:
    if not isinstance(name, str) or name not in there_are:
        raise wrong(f"{key} names {name!r}, which is no {kind}{instead_of(str(name), there_are)}")
    return name
