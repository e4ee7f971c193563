"""A comparison of the model with the production engine. Where they differ the model is wrong.

Both run over their own seeds. The intervals are so wide that a correct model passes all comparisons together with a
probability of 99 %. A figure that hardly varies also passes within half a per cent: times are quantised.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from sdschat.audit.verdict import counted
from sdschat.experiment.figures import NAMES
from sdschat.experiment.grid.gridfile import Run
from sdschat.experiment.grid.summary import Difference, difference
from sdschat.experiment.runs import SimRun
from sdschat.experiment.setting import GroupSetting

CHANCE: Final = 0.01
LARGE: Final = 1_000  # from this size on an engine run takes a minute, and repair ends sooner
QUANTUM: Final = 0.005
HARDLY: Final = 0.25  # if only greater differences can be detected, the comparison says little
_SEEDS: Final = {10: 300, 100: 40, 1000: 6}  # participants up to: seeds of the engine
_MODEL_SEEDS: Final = 1_000_000  # the model's first seed: never one of the engine's


class Case(NamedTuple):
    setting: GroupSetting
    engine_seeds: int
    model_seeds: int


class Compared(NamedTuple):
    setting: GroupSetting
    figure: str
    found: Difference

    @property
    def agrees(self) -> bool:
        close = abs(self.found.one - self.found.other) <= QUANTUM * abs(self.found.one)
        return self.found.agrees or close

    def line(self) -> str:
        one, other, margin = self.found
        share = f"{margin / abs(one):7.1%}" if one else f"{'':7}"
        return f"{self.figure:20} {one:12.4f} {other:12.4f} ±{margin:10.4f} {share}  {'' if self.agrees else 'DIFFERS'}"

    @property
    def noticed_from(self) -> float:
        """Return the smallest difference, as a share of the engine's mean, that is more likely detected than not."""
        return max(QUANTUM, self.found.margin / abs(self.found.one)) if self.found.one else 0.0


def verdict_on(wanted: Sequence[Case], found: Sequence[Compared]) -> str:
    wrong = sum(not item.agrees for item in found)
    said = f"{counted(len(found), 'figure', 'figures')} compared, {wrong} differ by more than chance explains."
    left = len(wanted) * len(NAMES) - len(found)
    if left:
        said += f" {counted(left, 'was', 'were')} not compared: these runs have too few values of them, or none."
    return said


def could_have_found(found: Sequence[Compared]) -> str:
    """Say how small a difference could have been detected, so that wide error bars are not taken for agreement."""
    shares = sorted((item.noticed_from, item.figure) for item in found if item.found.one)
    if not shares:
        return "There was nothing in which a difference could have been noticed."
    middle, (worst, name) = shares[len(shares) // 2][0], shares[-1]
    said = (
        f"a difference of less than {_percent(middle)} would as a rule not have been noticed in half of the figures, "
        f"and in {name} one of less than {_percent(worst)}. Four times the --seeds halve that."
    )
    if middle > HARDLY:
        return f"That says little, with so few seeds: {said}"
    return f"{said[0].upper()}{said[1:]}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"


def cases(participants: Sequence[int], seeds: int | None = None, base: GroupSetting | None = None) -> list[Case]:
    """Return the cases: each size with and without anti-entropy. The model gets more seeds, since it is cheap."""
    found = []
    for count in participants:
        usual = base or GroupSetting(loss=0.1, tail=60_000 if count >= LARGE else 120_000)
        of = seeds or next((of for size, of in sorted(_SEEDS.items()) if count <= size), 3)
        for push in (True, False):
            setting = dataclasses.replace(usual, by="engine", participants=count, push=push)
            found.append(Case(setting, of, max(2 * of, 20)))
    return found


def engine_runs(wanted: Sequence[Case]) -> list[Run]:
    return [Run(case.setting, seed) for case in wanted for seed in range(case.engine_seeds)]


def model_runs(wanted: Sequence[Case]) -> list[Run]:
    return [
        Run(dataclasses.replace(case.setting, by="model"), _MODEL_SEEDS + seed)
        for case in wanted
        for seed in range(case.model_seeds)
    ]


def compared(wanted: Sequence[Case], rows: Iterable[SimRun]) -> list[Compared]:
    done: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for row in rows:
        done[row.by, row.setting_id].append(row.numbers)
    chance = CHANCE / (len(wanted) * len(NAMES))
    return [found for case in wanted for found in _compared(case.setting, done, chance)]


def _compared(
    setting: GroupSetting, done: dict[tuple[str, str], list[dict[str, float]]], chance: float
) -> Iterator[Compared]:
    engine = done["engine", setting.key()]
    model = done["model", dataclasses.replace(setting, by="model").key()]
    for name in NAMES:
        found = difference(
            [numbers[name] for numbers in engine if name in numbers],
            [numbers[name] for numbers in model if name in numbers],
            chance,
        )
        if found is not None:
            yield Compared(setting, name, found)
