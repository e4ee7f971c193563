"""How long runs take here: as long as those like them took, in this grid or an earlier one, as far as there are any."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sdschat.pipeline.grid.gridfile import EACH, cost
from sdschat.pipeline.grid.runs import SimRun
from sdschat.pipeline.grid.setting import Setting, setting_of
from sdschat.pipeline.problem import PipelineProblem

_ALIKE: Final = 3.0  # a run of half or twice the size counts for 2**-3 of one of the same


class _Kind(NamedTuple):
    """What is done in another way takes another time."""

    by: str
    one_by_one: bool
    push: bool


@dataclass(slots=True)
class _Measured:
    """Runs of one setting: seconds of one core, and what they were expected to be."""

    participants: int
    seconds: float = 0.0
    expected: float = 0.0
    count: int = 0


@dataclass(slots=True)
class Pace:
    _measured: dict[_Kind, dict[Setting, _Measured]] = field(default_factory=lambda: defaultdict(dict))
    _known: dict[Setting, float] = field(default_factory=dict)  # until more is measured
    _least: dict[_Kind, float] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[SimRun]) -> Pace:
        pace = cls()
        settings: dict[str, Setting | None] = {}
        for row in rows:
            if row.setting_id not in settings:
                settings[row.setting_id] = _setting(row)
            setting = settings[row.setting_id]
            if setting is not None and not row.failed:
                pace.took(setting, row.wall_s)
        return pace

    def took(self, setting: Setting, seconds: float) -> None:
        found = self._measured[_kind(setting)].setdefault(setting, _Measured(setting.participants))
        found.seconds += seconds
        found.expected += cost(setting)
        found.count += 1
        self._least.pop(_kind(setting), None)  # now it is known
        self._known.clear()

    def takes_longer_than(self, setting: Setting, seconds: float) -> None:
        """It goes on: those like it will not take less either."""
        kind, least = _kind(setting), seconds / cost(setting)
        if least > self._least.get(kind, 0.0):
            self._least[kind] = least
            self._known.clear()

    def seconds(self, setting: Setting) -> float:
        """Expected, of one core."""
        if setting not in self._known:
            self._known[setting] = cost(setting) * self._factor(setting)
        return self._known[setting]

    def _factor(self, setting: Setting) -> float:
        """What runs took for each second that they were expected to take: those of the same setting, else of the same
        kind and about as large, else any."""
        kind = _kind(setting)
        of_kind = self._measured.get(kind, {})
        same = of_kind.get(setting)
        if same is not None:
            return same.seconds / same.expected
        some = list(of_kind.values()) or [each for group in self._measured.values() for each in group.values()]
        weights = [_likeness(each.participants, setting.participants) for each in some]
        whole = sum(weights)
        mean = sum(w * each.seconds / each.expected for w, each in zip(weights, some, strict=True))
        return max(mean / whole if whole else 1.0, self._least.get(kind, 0.0))


def _likeness(one: int, other: int) -> float:
    return math.pow(one / other if one < other else other / one, _ALIKE)


def _kind(setting: Setting) -> _Kind:
    return _Kind(setting.by, setting.by == "model" and setting.participants <= EACH, setting.push)


def _setting(row: SimRun) -> Setting | None:
    """Nothing for one that an older program knew, and this one does not."""
    try:
        return setting_of(json.loads(row.setting))
    except (PipelineProblem, ValueError):
        return None
