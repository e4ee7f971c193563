"""From a seed to a scenario. The seed also draws how bad each kind of fault is, and which kinds there are at all:
a world where everything goes wrong at once hides what only one thing going wrong shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from types import ModuleType

from sdschat.sds.config import DEMO, SPEC, Config, FilterFormat
from sdschat.sim.scenario import WRONG_BY, Action, Plan, Rates, Scenario


def holders(name: str) -> list[ModuleType]:
    """Return every loaded module of the engine that took this constant into its own names."""
    modules = sorted(sys.modules.items())
    return [module for path, module in modules if path.startswith("sdschat.sds") and name in vars(module)]


@contextmanager
def limits(values: tuple[tuple[str, int], ...]) -> Iterator[None]:
    before = [(module, name, getattr(module, name)) for name, _ in values for module in holders(name)]
    try:
        for name, value in values:
            for module in holders(name):
                setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


_NAMES = "abcdefghijklmnopqrstuvwxyz"
_POINTS = ("before-writes", "before-packets", "between-packets", "idle")
TIGHT = (
    ("BUFFERED_PER_SENDER", 6),
    ("BUFFERED_PER_CHANNEL", 12),
    ("MISSING_PER_SENDER", 4),
    ("MISSING_PER_CHANNEL", 8),
    ("GAPS_PER_SENDER", 4),
    ("GAPS_PER_CHANNEL", 8),
    ("FUTURE_DATED_PER_SENDER", 3),
    ("ANSWERS_PER_SENDER", 3),
    ("ANSWERS_PER_CHANNEL", 6),
    ("PUSHES_PER_SENDER", 6),
    ("PUSHES_PER_CHANNEL", 8),
    ("PUSHES_PER_REVIEW", 4),
    ("SETTLED_KEPT", 4),
    ("POSSIBLY_ACKED_KEPT", 3),
    ("RETIRED_KEPT", 3),
    ("RESENDS_PER_SWEEP", 2),
)
# With a filter of 16 ids these are to one another what 256, 1024 and 256 are.
_SMALL_WINDOWS = (("RECENT_WINDOW", 20), ("RANGE_IDS", 16), ("RANGE_LIMIT", 64), ("FILTER_REVIEW", 64))


def generate(seed: int) -> Scenario:
    draw = Random(seed)
    timing = "demo" if draw.random() < 0.4 else "spec"
    config = _config(draw, SPEC if timing == "spec" else DEMO)
    interval = config.sync_interval
    heal_at = int(interval * draw.choice((1, 2, 2, 3, 4, 6)) * draw.uniform(0.7, 1.3))
    limits: tuple[tuple[str, int], ...] = ()
    if draw.random() < 0.08:
        limits = TIGHT if draw.random() < 0.5 else _SMALL_WINDOWS
    if limits is _SMALL_WINDOWS:
        config = replace(config, bloom_capacity=16)
    plans = _plans(draw, config, interval, plain=bool(limits))
    rates = _rates(draw, config)
    actions = _sends(draw, len(plans), heal_at, most=80 if limits else 300)
    for add in (_crashes, _transport, _partitions, _jumps, _comings, _hints, _garbage, _floods):
        add(draw, actions, plans, config, heal_at)
    actions.sort(key=lambda action: action.at)
    return Scenario(seed, timing, config, tuple(plans), rates, tuple(actions), heal_at, limits)


def _config(draw: Random, base: Config) -> Config:
    changes: dict[str, object] = {}
    if draw.random() < 0.35:
        changes["causal_history"] = draw.randint(1, 10)
    if draw.random() < 0.25:
        changes["bloom_capacity"] = draw.choice((8, 16, 16, 32))
    if draw.random() < 0.3:
        changes["num_response_groups"] = draw.randint(2, 3)
    if draw.random() < 0.3:
        changes["max_skew"] = draw.choice((20_000, 60_000))
    if draw.random() < 0.25:
        changes["id_rule"] = "text"
    if draw.random() < 0.05:
        changes["repair_enabled"] = False
    if draw.random() < 0.1:
        changes["lost_after"] = base.sync_interval * draw.choice((5, 6, 8))  # more than T_max
    return replace(base, **changes) if changes else base  # type: ignore[arg-type]


def _plans(draw: Random, config: Config, interval: int, plain: bool) -> list[Plan]:
    chance = draw.random()
    count = draw.choice((2, 2, 3, 3, 3, 4, 4, 5, 6)) if chance < 0.95 else draw.randint(7, 12)
    layouts: tuple[FilterFormat, ...] = ("auto",)
    if count <= 4 and not plain and draw.random() < 0.06:
        layouts = draw.choice((("waku",), ("auto", "waku"), ("compact", "waku"), ("auto", "compact")))
    skewed = draw.random() < 0.35
    slow = draw.random() < 0.2
    late = draw.random() < 0.15
    wrong = draw.randrange(count) if not skewed and draw.random() < 0.05 else -1
    plans = []
    for at in range(count):
        skew = draw.randint(-config.max_skew // 2, config.max_skew // 2) if skewed else 0
        batch = draw.randint(1, interval // 10) if slow and draw.random() < 0.5 else 0
        joins = late and at >= 2 and draw.random() < 0.5
        if wrong == at:
            skew = config.max_skew + WRONG_BY + draw.randint(0, interval)
        plans.append(Plan(_NAMES[at], draw.choice(layouts), skew, batch, joins))
    return plans


def _rates(draw: Random, config: Config) -> Rates:
    def sometimes(chance: float, low: float, high: float) -> float:
        return draw.uniform(low, high) if draw.random() < chance else 0.0

    latency = draw.choice((1, 5, 20, 80, 200))
    return Rates(
        loss=sometimes(0.6, 0.01, 0.40),
        duplicate=sometimes(0.3, 0.02, 0.5),
        tail=sometimes(0.3, 0.01, 0.3),
        latency=latency,
        jitter=draw.choice((1, latency, 500, 3000)),
        tail_ms=int(config.sync_interval * draw.choice((0.2, 0.5, 1))),
    )


def _sends(draw: Random, nodes: int, heal_at: int, most: int) -> list[Action]:
    chance = draw.random()
    count = draw.randint(4, 30) if chance < 0.8 else draw.randint(31, 80) if chance < 0.98 else draw.randint(80, most)
    actions: list[Action] = []
    style = draw.choice(("even", "even", "bursts", "chorus", "one"))
    number = 0
    while number < count:
        at = draw.randint(0, heal_at - 1)
        if style == "even":
            crowd = [draw.randrange(nodes)]
        elif style == "bursts":
            crowd = [draw.randrange(nodes)] * draw.randint(1, 8)
        elif style == "chorus":
            crowd = draw.sample(range(nodes), draw.randint(1, nodes))
        else:
            crowd = [0 if draw.random() < 0.8 else draw.randrange(nodes)]
        for node in crowd:
            number += 1
            verb = "ephemeral" if draw.random() < 0.03 else "send"
            actions.append(Action(at, verb, node, number, "long" if draw.random() < 0.02 else ""))
    return actions


def _crashes(draw: Random, actions: list[Action], plans: list[Plan], config: Config, heal_at: int) -> None:
    if draw.random() > 0.35:
        return
    sends = [action for action in actions if action.verb == "send"]
    for _ in range(draw.randint(1, 5)):
        node, at = draw.randrange(len(plans)), draw.randint(0, heal_at - 1)
        if sends and draw.random() < 0.4:
            near = draw.choice(sends)  # so that it is the sending that dies
            node, at = near.node, max(0, near.at - 1)
        down = draw.choice((1, 1, config.sync_interval // 3, config.sync_interval * 2))
        actions.append(Action(at, "crash", node, 0, draw.choice(_POINTS)))
        actions.append(Action(min(at + draw.randint(1, down), heal_at), "restart", node))


def _transport(draw: Random, actions: list[Action], plans: list[Plan], config: Config, heal_at: int) -> None:
    if draw.random() > 0.25:
        return
    for _ in range(draw.randint(1, 4)):
        node, at = draw.randrange(len(plans)), draw.randint(0, heal_at - 1)
        actions.append(Action(at, "offline", node))
        actions.append(Action(min(at + draw.randint(1, config.sync_interval * 2), heal_at), "online", node))


def _partitions(draw: Random, actions: list[Action], plans: list[Plan], config: Config, heal_at: int) -> None:
    if draw.random() > 0.4:
        return
    everyone = list(range(len(plans)))
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, heal_at - 1)
        draw.shuffle(everyone)
        kind = draw.random()
        cut = 1 if kind < 0.4 else max(1, len(everyone) // 2)
        groups = (tuple(sorted(everyone[:cut])), tuple(sorted(everyone[cut:])))
        actions.append(Action(at, "oneway" if draw.random() < 0.3 else "partition", groups=groups))
        if draw.random() < 0.6:
            actions.append(Action(draw.randint(at, heal_at), "mend"))


def _jumps(draw: Random, actions: list[Action], plans: list[Plan], config: Config, heal_at: int) -> None:
    wrong = any(abs(plan.skew) > config.max_skew for plan in plans)
    if draw.random() > 0.12 or wrong:
        return
    for _ in range(draw.randint(1, 3)):
        skew = draw.randint(-config.max_skew // 2, config.max_skew // 2)
        actions.append(Action(draw.randint(0, heal_at - 1), "jump", draw.randrange(len(plans)), skew))


def _comings(draw: Random, actions: list[Action], plans: list[Plan], config: Config, heal_at: int) -> None:
    for node, plan in enumerate(plans):
        if plan.joins:
            actions.append(Action(draw.randint(1, heal_at), "join", node))
    if len(plans) >= 3 and draw.random() < 0.05:
        actions.append(Action(draw.randint(1, heal_at - 1), "leave", draw.randrange(len(plans))))


def _hints(draw: Random, actions: list[Action], plans: list[Plan], config: Config, heal_at: int) -> None:
    if draw.random() < 0.08:
        for number in range(draw.randint(1, 6)):
            actions.append(Action(draw.randint(1, heal_at - 1), "hint", draw.randrange(len(plans)), number))


def _garbage(draw: Random, actions: list[Action], plans: list[Plan], config: Config, heal_at: int) -> None:
    if draw.random() < 0.08:
        for _ in range(draw.randint(1, 8)):
            actions.append(Action(draw.randint(0, heal_at - 1), "garbage", -1, draw.randrange(100_000)))


def _floods(draw: Random, actions: list[Action], plans: list[Plan], config: Config, heal_at: int) -> None:
    if draw.random() > 0.03:
        return
    kinds = ["orphans", "orphans", "parent", "clock", "channel"]
    if not any(plan.skew for plan in plans) and not any(action.verb == "jump" for action in actions):
        kinds += ["future", "future"]  # with other clocks, these could take half of max_skew to be due
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(kinds)
        count = 1 if kind == "parent" else draw.randint(1, 40)
        actions.append(Action(draw.randint(0, heal_at - 1), "flood", -1, count, kind))
