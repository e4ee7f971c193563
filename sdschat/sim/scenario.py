"""A scenario is plain data: who takes part, how bad the network is, and what happens when.

It follows from a seed (`generate.py`), can be cut down (`shrink.py`) and printed (`language.py`). Running it draws
nothing but the fates of packets, and those from a hash of what the packet is, so that a scenario without one of its
actions is still nearly the same story.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sdschat.sds.config import DEMO, SPEC, Config, Layout

WRONG_BY = 10_000  # a wrong clock is ahead by at least so much more than others bear
START = 1_700_000_000_000  # epoch milliseconds at the world's time 0


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
    """How bad the network is while faults are on."""

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
    layout: Layout = "auto"
    skew: int = 0
    batch: int = 0  # a slow consumer looks into its inbox this long after the first packet in it came
    joins: bool = False  # comes by a `join` action, not at the start


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

    @property
    def hostile(self) -> bool:
        """Whether somebody sends what no honest peer sends."""
        return any(action.verb == "flood" for action in self.actions)

    @property
    def skew(self) -> int:
        """How far honest clocks are ever off."""
        jumps = [abs(action.number) for action in self.actions if action.verb == "jump"]
        honest = [abs(plan.skew) for plan in self.plans if abs(plan.skew) <= self.config.max_skew]
        return max(0, *jumps, *honest)

    @property
    def wrong_clock(self) -> int:
        """How far a clock is off beyond what others bear; 0 where none is."""
        return max(0, *(abs(plan.skew) - self.config.max_skew for plan in self.plans))

    @property
    def crowded(self) -> bool:
        """Whether buffers may overflow."""
        sends = sum(1 for action in self.actions if action.verb == "send")
        return self.hostile or bool(self.limits) or sends > 60

    @property
    def usual(self) -> bool:
        """Default settings, however bad the network, and nobody who lies or leaves: what I5 gives times for."""
        default = SPEC if self.timing == "spec" else DEMO
        return self.config == default and not (self.limits or self.losing or self.hostile or self.wrong_clock)

    @property
    def losing(self) -> bool:
        """Whether messages can be gone for good, so that waiting for them has to end first."""
        return any(action.verb in ("leave", "flood") for action in self.actions)


class Violation(Exception):
    """An invariant does not hold. `rule` is its number, as in I1."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule
        self.what = what
