"""Whether the model says what the engine says. The production engine decides; where they differ the model is wrong.

For each setting both are run over seeds of their own, and every figure is compared by the interval of the difference
of its means, wide enough that with a model that is right, all comparisons of all settings together pass with the
chance of 99 %. A figure that hardly varies between seeds also passes within half a per cent: times are quantised.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from sdschat.pipeline.grid.figures import NAMES
from sdschat.pipeline.grid.gridfile import Run
from sdschat.pipeline.grid.runs import SimRun
from sdschat.pipeline.grid.setting import Setting
from sdschat.pipeline.grid.stats import Difference, difference

CHANCE: Final = 0.01
LARGE: Final = 1_000  # from here on the engine takes minutes, and repair is over sooner
QUANTUM: Final = 0.005
_MODEL_SEEDS: Final = 1_000_000  # of other seeds than the engine's

Work = Callable[[Sequence[Run]], Iterator[SimRun]]


class Case(NamedTuple):
    setting: Setting
    engine_seeds: int
    model_seeds: int


class Compared(NamedTuple):
    setting: Setting
    figure: str
    found: Difference

    @property
    def agrees(self) -> bool:
        close = abs(self.found.one - self.found.other) <= QUANTUM * abs(self.found.one)
        return self.found.agrees or close

    def line(self) -> str:
        one, other, margin = self.found
        return f"{self.figure:20} {one:12.4f} {other:12.4f} ±{margin:10.4f}  {'' if self.agrees else 'DIFFERS'}"


def cases(participants: Sequence[int], seeds: Sequence[int], **changes: object) -> list[Case]:
    """With anti-entropy and without, at each size. The model is run twice as often, since it is cheap."""
    found = []
    for count, of in zip(participants, seeds, strict=True):
        tail = 60_000 if count >= LARGE else 120_000
        for push in (True, False):
            base = Setting(by="engine", participants=count, loss=0.1, tail=tail, push=push)
            setting = dataclasses.replace(base, **changes)  # type: ignore[arg-type]
            found.append(Case(setting, of, 2 * of))
    return found


def compare(wanted: Sequence[Case], work: Work) -> list[Compared]:
    """Raises RuntimeError where a run failed: nothing can be said then."""
    runs = [Run(case.setting, seed) for case in wanted for seed in range(case.engine_seeds)]
    runs += [
        Run(dataclasses.replace(case.setting, by="model"), _MODEL_SEEDS + seed)
        for case in wanted
        for seed in range(case.model_seeds)
    ]
    done: dict[tuple[str, str], list[dict[str, float]]] = {}
    for row in work(runs):
        if row.failed:
            raise RuntimeError(f"{row.run_id} failed: {row.failed}")
        done.setdefault((row.by, row.setting_id), []).append(row.numbers)
    chance = CHANCE / (len(wanted) * len(NAMES))
    return [found for case in wanted for found in _compared(case.setting, done, chance)]


def _compared(
    setting: Setting, done: dict[tuple[str, str], list[dict[str, float]]], chance: float
) -> Iterator[Compared]:
    engine = done["engine", setting.key()]
    model = done["model", dataclasses.replace(setting, by="model").key()]
    for name in NAMES:
        found = difference(
            [numbers[name] for numbers in engine if name in numbers],
            [numbers[name] for numbers in model if name in numbers], chance,
        )  # fmt: skip
        if found is not None:
            yield Compared(setting, name, found)
