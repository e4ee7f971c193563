"""Expected run times, from similar runs in this grid or an earlier one, as far as there are any."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from sdschat.audit.problem import PipelineProblem
from sdschat.experiment.grid.gridfile import EACH, cost
from sdschat.experiment.runs import SimRun
from sdschat.experiment.setting import GroupSetting, setting_of

_ALIKE: Final = 3.0  # a run of half or twice the size has 2**-3 of the weight of a run of the same size


class _Kind(NamedTuple):
    """The kind of a run. Runs of different kinds use different algorithms, so their times differ."""

    by: str
    one_by_one: bool
    push: bool


@dataclass(slots=True)
class _Measured:
    """The runs of one setting: their measured and their expected seconds on one core."""

    participants: int
    seconds: float = 0.0
    expected: float = 0.0
    count: int = 0


@dataclass(slots=True)
class Pace:
    _measured: dict[_Kind, dict[GroupSetting, _Measured]] = field(default_factory=lambda: defaultdict(dict))
    _known: dict[GroupSetting, float] = field(default_factory=dict)  # cache of `seconds`, cleared by new measurements
    _least: dict[_Kind, float] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[SimRun]) -> Pace:
        pace = cls()
        settings: dict[str, GroupSetting | None] = {}
        for row in rows:
            if row.setting_id not in settings:
                settings[row.setting_id] = _setting(row)
            setting = settings[row.setting_id]
            if setting is not None and not row.failed:
                pace.took(setting, row.wall_s)
        return pace

    def took(self, setting: GroupSetting, seconds: float) -> None:
        found = self._measured[_kind(setting)].setdefault(setting, _Measured(setting.participants))
        found.seconds += seconds
        found.expected += cost(setting)
        found.count += 1
        self._least.pop(_kind(setting), None)  # a measurement replaces the lower bound
        self._known.clear()

    def takes_longer_than(self, setting: GroupSetting, seconds: float) -> None:
        """Record that a run of this setting still goes on: runs of its kind will not take less either."""
        kind, least = _kind(setting), seconds / cost(setting)
        if least > self._least.get(kind, 0.0):
            self._least[kind] = least
            self._known.clear()

    def seconds(self, setting: GroupSetting) -> float:
        """Return the expected seconds on one core."""
        if setting not in self._known:
            self._known[setting] = cost(setting) * self._factor(setting)
        return self._known[setting]

    def _factor(self, setting: GroupSetting) -> float:
        """Return the ratio of measured to expected seconds.

        It comes from runs of the same setting, else of the same kind weighted by similar size, else of any kind.
        """
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


def _kind(setting: GroupSetting) -> _Kind:
    return _Kind(setting.by, setting.by == "model" and setting.participants <= EACH, setting.push)


def _setting(row: SimRun) -> GroupSetting | None:
    """Return the setting of a run, or None for a setting this version no longer has."""
    try:
        return setting_of(json.loads(row.setting))
    except (PipelineProblem, ValueError):
        return None
