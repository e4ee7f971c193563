"""A scenario is plain data: who takes part, how bad the network is, and what happens when.

It follows from a seed (`generate.py`), can be cut down (`shrink.py`) and printed (`describe`). Running it draws
nothing but the fates of packets, and those from a hash of what the packet is, so that a scenario without one of its
actions is still nearly the same story.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

from sdschat.sds.config import DEMO, SPEC, Config, FilterFormat

WRONG_BY = 10_000  # a wrong clock is ahead by at least so much more than others bear
START = 1_700_000_000_000  # epoch milliseconds at the world's time 0

Settings = tuple[tuple[str, Any], ...]  # fields of a `Config` that differ from the scenario's, with their values


class Action(NamedTuple):
    """Something that happens at a time, in milliseconds from the start. `node` is an index into the plans."""

    at: int
    verb: str
    node: int = -1
    number: int = 0
    point: str = ""
    groups: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Rates:
    """Fault rates of the network while faults are on."""

    loss: float = 0.0
    duplicate: float = 0.0
    tail: float = 0.0  # share of packets that take `tail_ms` rather than `latency`
    latency: int = 20
    jitter: int = 20  # packets overtake each other by up to this much
    tail_ms: int = 10_000


@dataclass(frozen=True, slots=True)
class Plan:
    """One participant."""

    name: str
    layout: FilterFormat = "auto"
    skew: int = 0
    batch: int = 0  # a slow consumer looks into its inbox this long after the first packet in it came
    joins: bool = False  # comes by a `join` action, not at the start
    settings: Settings = ()
    later: Settings | None = None  # the settings from its second start on, where they are other ones
    key_of: str = ""  # the plan whose key it has a copy of: both have that participant id
    bodies: int = 0  # how many packets its disk keeps beside its own open ones; 0: all
    literal: str = ""  # "waku" or "none": a peer that is the specification and no more, with such a filter

    @property
    def participant(self) -> str:
        return self.key_of or self.name


@dataclass(frozen=True, slots=True)
class Scenario:
    seed: int
    timing: str
    config: Config
    plans: tuple[Plan, ...]
    rates: Rates
    actions: tuple[Action, ...]
    heal_at: int
    limits: tuple[tuple[str, int], ...] = ()  # engine limits made small, so that few messages reach them
    variant: str = ""  # "varied": a story of varied.py, which has the same seeds

    def without_last(self) -> Scenario:
        """Return the scenario without the last participant, and everything it does."""
        last = len(self.plans) - 1
        actions = tuple(
            action._replace(groups=tuple(tuple(node for node in group if node != last) for group in action.groups))
            for action in self.actions
            if action.node != last
        )
        return replace(self, plans=self.plans[:-1], actions=actions)

    @property
    def configs(self) -> tuple[Config, ...]:
        """Return the settings of every participant, at every time."""
        return _configs_of(self.config, self.plans)

    @property
    def longest_interval(self) -> int:
        """Return the longest sync interval of anybody."""
        return max(config.sync_interval for config in self.configs)

    @property
    def lost_after(self) -> int:
        """Return the longest time that anybody waits for what is gone."""
        return max(config.lost_after for config in self.configs)

    @property
    def torn(self) -> frozenset[str]:
        """Return the participants with less or other in their log than their id stands for: from an older backup, or
        one key in two places. An own message that another process wrote is refused, as forged."""
        back = {self.plans[action.node].participant for action in self.actions if action.verb == "rollback"}
        return frozenset(back) | self.twins

    @property
    def twins(self) -> frozenset[str]:
        """Return the participants with one key in two places."""
        return frozenset(plan.key_of for plan in self.plans if plan.key_of)

    @property
    def hostile(self) -> bool:
        """True if somebody sends what no honest peer sends."""
        return any(action.verb == "flood" for action in self.actions)

    @property
    def forgetful(self) -> bool:
        """True if a disk keeps few packets, perhaps of its own author's."""
        return any(plan.bodies for plan in self.plans)

    @property
    def skew(self) -> int:
        """Return the most that honest clocks are ever off."""
        return max(map(abs, self._skews))

    @property
    def spread(self) -> int:
        """Return the most by which honest clocks ever differ."""
        return max(self._skews) - min(self._skews)

    @property
    def _skews(self) -> list[int]:
        jumps = [action.number for action in self.actions if action.verb == "jump"]
        honest = [plan.skew for plan in self.plans if abs(plan.skew) <= self.config.max_skew]
        return [0, *jumps, *honest]

    @property
    def wrong_clock(self) -> int:
        """Return how far a clock is off beyond what others bear; 0 if none is."""
        return max(0, *(abs(plan.skew) - self.config.max_skew for plan in self.plans))

    @property
    def crowded(self) -> bool:
        """True if buffers may overflow."""
        sends = sum(1 for action in self.actions if action.verb == "send")
        return self.hostile or bool(self.limits) or sends > 60

    @property
    def usual(self) -> bool:
        """Return True for default settings, however bad the network, and nobody who lies or leaves: I5 gives times for
        these."""
        default = SPEC if self.timing == "spec" else DEMO
        same = self.config == default and not any(plan.settings or plan.later or plan.literal for plan in self.plans)
        return same and not (self.limits or self.losing or self.hostile or self.wrong_clock)

    @property
    def losing(self) -> bool:
        """True if messages can be gone for good, so that waiting for them has to end first."""
        return any(action.verb in ("leave", "flood", "rollback") for action in self.actions) or bool(self.torn)


@lru_cache(maxsize=4096)
def config_for(base: Config, layout: FilterFormat, settings: Settings = ()) -> Config:
    """Return the scenario's settings, with what differs for one participant."""
    changes = {"bloom_layout": layout, **dict(settings)}
    if all(getattr(base, name) == value for name, value in changes.items()):
        return base
    return replace(base, **changes)


@lru_cache(maxsize=256)
def _configs_of(base: Config, plans: tuple[Plan, ...]) -> tuple[Config, ...]:
    given = [
        (plan.layout, settings) for plan in plans for settings in (plan.settings, plan.later) if settings is not None
    ]
    return tuple(config_for(base, layout, settings) for layout, settings in dict.fromkeys(given))


class Violation(Exception):
    """An invariant does not hold. `rule` is its number, as in I1."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule
        self.what = what


def describe(scenario: Scenario) -> list[str]:
    """Return the whole scenario, settings first, then what happens, with `tick` for the time between."""
    lines = [f"# {scenario.variant} seed {scenario.seed}".replace("  ", " "), f"timing {scenario.timing}"]
    lines += _settings(scenario.config, SPEC if scenario.timing == "spec" else DEMO)
    lines += [f"limit {name} {value}" for name, value in scenario.limits]
    rates = scenario.rates
    for name, share in (("drop", rates.loss), ("duplicate", rates.duplicate)):
        if share:
            lines.append(f"{name} {share:.1%}")
    lines.append(f"delay {rates.latency}ms jitter {rates.jitter}ms")
    if rates.tail:
        lines.append(f"delay {rates.tail_ms}ms for {rates.tail:.1%}")
    for plan in scenario.plans:
        notes = [f"bloom {plan.layout}"] if plan.layout != "auto" else []
        notes += [f"skew {plan.skew / 1000:+.1f}s"] if plan.skew else []
        notes += [f"slow {plan.batch}ms"] if plan.batch else []
        notes += [f"key of {plan.key_of}"] if plan.key_of else []
        notes += [f"keeps {plan.bodies} packets"] if plan.bodies else []
        notes += [f"the specification alone, filter {plan.literal}"] if plan.literal else []
        notes += [f"{name} {value}" for name, value in plan.settings]
        if plan.later is not None:
            notes += ["after a restart", *(f"{name} {value}" for name, value in plan.later)]
        lines.append(" ".join(("later" if plan.joins else "peer", plan.name, *notes)))
    time = 0
    for action in scenario.actions:
        lines += _tick(action.at - time)
        time = action.at
        lines.append(_action(scenario, action))
    return [*lines, *_tick(scenario.heal_at - time), "heal"]


def _settings(config: Config, base: Config) -> Iterable[str]:
    for item in fields(Config):
        value = getattr(config, item.name)
        if value != getattr(base, item.name):
            yield f"set {item.name} {value}"


def _tick(duration: int) -> list[str]:
    if duration <= 0:
        return []
    return [f"tick {duration}ms" if duration < 1000 or duration % 100 else f"tick {duration / 1000:g}s"]


def _action(scenario: Scenario, action: Action) -> str:
    def names(group: tuple[int, ...]) -> str:
        return " ".join(scenario.plans[node].name for node in group)

    who = scenario.plans[action.node].name if action.node >= 0 else ""
    verb = action.verb
    if verb in ("send", "ephemeral"):
        return f"{verb} {who} {action.number}{' ' + action.point if action.point else ''}"
    if verb == "flood":
        return f"flood {action.number} {action.point}"
    if verb in ("crash", "malformed"):
        return f"{verb} {who} {action.point}"
    if verb == "fetch":
        return f"fetch {who} {'all' if action.number == -START else f'from {action.number / 1000:.1f}s on'}"
    if verb == "partition":
        return "partition " + " | ".join(names(group) for group in action.groups)
    if verb == "oneway":
        return f"mute {names(action.groups[0])} > {names(action.groups[1])}"
    if verb == "jump":
        return f"clock {who} {action.number / 1000:+.1f}s"
    return " ".join(part for part in (verb, who, str(action.number) if action.number else "") if part)
