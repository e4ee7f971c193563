"""The setting of a simulated group. A run follows from a setting and a seed, and from nothing else."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sdschat.audit.errors import PipelineProblem
from sdschat.experiment.vector_model.rules import RULES
from sdschat.identity.handwritten import nearest
from sdschat.sds.config import Config, response_groups

WRONG_USE: Final = 2
MOST_BY_ENGINE: Final = 20_000
MOST_BY_MODEL: Final = 2_000_000
MOST_MESSAGES: Final = 12


@dataclass(frozen=True, slots=True)
class GroupSetting:
    """The values of one group: `messages` are sent, one every `interval`; then the group is watched for `tail`.

    Senders are drawn at random. Times (`TIMES`) are in milliseconds; a grid file may also say "30s". `groups` 0 means
    the spec's value: one response group for every 128 participants. `rules` other than ours are those of other
    implementations, see `vector_model/rules.py`; only the model knows them.
    """

    by: str = "model"  # engine or model
    participants: int = 100
    loss: float = 0.05
    messages: int = 6
    interval: int = 5_000
    latency: int = 100
    warm_up: int = 60_000  # all participants join within this time
    tail: int = 180_000
    content_bytes: int = 100
    rules: str = "sdschat"
    causal_history: int = 2
    t_min: int = 30_000
    t_max: int = 120_000
    groups: int = 0
    sync_interval: int = 30_000
    push: bool = True
    repair: bool = True
    layout: str = "compact"
    journal: bool = False

    @property
    def until(self) -> int:
        return self.warm_up + self.interval * (self.messages - 1) + self.tail

    @property
    def response_groups(self) -> int:
        return self.groups or response_groups(self.participants)

    def config(self) -> Config:
        return Config(
            causal_history=self.causal_history,
            t_min=self.t_min,
            t_max=self.t_max,
            sync_interval=self.sync_interval,
            num_response_groups=self.response_groups,
            push_enabled=self.push,
            repair_enabled=self.repair,
            bloom_layout=self.layout,  # type: ignore[arg-type]
        )

    def sent_at(self, message: int) -> int:
        return self.warm_up + self.interval * message

    def in_words(self) -> str:
        with_it = "with" if self.push else "without"
        return f"{self.participants:,} participants, {self.loss:.0%} loss, {with_it} anti-entropy"

    def key(self) -> str:
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def changed(self) -> dict[str, Any]:
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }

    def in_full(self) -> str:
        """Return every value, as options of `--with` say it: what is not given has a value too, and a unit."""
        return " ".join(f"{name}={in_text(name, getattr(self, name))}" for name in SETTINGS)


TIMES: Final = ("interval", "latency", "warm_up", "tail", "t_min", "t_max", "sync_interval")
SETTINGS: Final = {field.name: type(field.default) for field in dataclasses.fields(GroupSetting)}
_ALIKE: Final = 0.6  # of 1: how like a known name a mistyped one must be
_UNITS: Final = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_TIME: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(h|m|s|ms)")
_KINDS: Final = {int: "a whole number", float: "a number, such as 0.05", str: "a text in quotes", bool: "true or false"}


def setting_of(values: Mapping[str, Any]) -> GroupSetting:
    """Return a setting. Raises PipelineProblem, in words that name the wrong value and a right one."""
    taken: dict[str, Any] = {}
    for name, value in values.items():
        if name not in SETTINGS:
            raise wrong(f"{name} is no setting{instead_of(name, SETTINGS)}")
        wanted = SETTINGS[name]
        if name in TIMES and isinstance(value, str):
            value = _milliseconds(name, value)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise wrong(f"{name} is {value!r}, and must be {_KINDS[wanted]}")
        taken[name] = value
    setting = GroupSetting(**taken)
    _check(setting)
    return setting


def _milliseconds(name: str, text: str) -> int:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise wrong(f"{name} is {text!r}, and must be a time such as 500ms, 30s, 10m or 2h")
    return round(float(found[1]) * _UNITS[found[2]])


def in_text(name: str, value: Any) -> str:
    """Return the value as options and tables say it: a time has its unit."""
    if name in TIMES:
        fitting = ((unit, size) for unit, size in _UNITS.items() if value and value % size == 0)
        unit, size = next(fitting, ("ms", 1))
        return f"{value // size}{unit}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def instead_of(name: str, there_are: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: a similar name, or all names."""
    names = sorted(there_are)
    near = nearest(name, names, _ALIKE)
    return f"; {near} is one" if near else f"; there are {', '.join(names)}"


def _check(s: GroupSetting) -> None:
    def within(name: str, low: float, high: float) -> None:
        value = getattr(s, name)
        if not low <= value <= high:
            said, least, most = (in_text(name, each) for each in (value, low, high))
            raise wrong(f"{name} is {said}, and must be from {least} to {most}")

    if s.by not in ("engine", "model"):
        raise wrong(f"by is {s.by!r}, and must be engine or model")
    if s.rules not in RULES:
        raise wrong(f"rules is {s.rules!r}, and must be one of {', '.join(RULES)}")
    if s.by == "engine" and s.rules != "sdschat":
        raise wrong(f"rules {s.rules!r} are known to the model only: by = 'model'")
    if s.journal and s.by != "engine":
        raise wrong("journal rows come from the engine only: by = 'engine'")
    within("participants", 2, MOST_BY_ENGINE if s.by == "engine" else MOST_BY_MODEL)
    within("loss", 0.0, 0.9)
    within("messages", 1, MOST_MESSAGES)
    within("interval", 1, 3_600_000)
    within("latency", 1, 60_000)
    within("warm_up", 0, 3_600_000)
    within("tail", 1, 7_200_000)
    within("content_bytes", 1, 40_000)
    within("groups", 0, 1_000_000)
    try:
        s.config()
    except ValueError as error:
        raise wrong(str(error)) from error


def wrong(text: str) -> PipelineProblem:
    return PipelineProblem(f"{text}.", WRONG_USE)
