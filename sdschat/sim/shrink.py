"""Cutting a failing scenario down to what it takes: delta debugging over its actions, then over its rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sdschat.sim.phases import Outcome, run
from sdschat.sim.scenario import Rates, Scenario

_TRIES = 600


def shrink(scenario: Scenario, attempt: Callable[[Scenario], Outcome] = run, tries: int = _TRIES) -> Scenario:
    """Return the smallest scenario found that breaks the same rule as this one."""
    rule = attempt(scenario).rule
    if not rule:
        return scenario
    left = tries

    def fails(candidate: Scenario) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and attempt(candidate).rule == rule

    best = scenario
    before = None
    while before != best and left > 0:
        before = best
        best = _fewer_actions(best, fails)
        best = next((simpler for simpler in _simpler(best) if simpler != best and fails(simpler)), best)
    return best


def _fewer_actions(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """Leave out ever smaller pieces (ddmin) for as long as what is left still fails."""
    pieces = 2
    best = scenario
    while len(best.actions) >= 1 and pieces <= 2 * len(best.actions):
        size = max(1, len(best.actions) // pieces)
        for start in range(0, len(best.actions), size):
            actions = best.actions[:start] + best.actions[start + size :]
            candidate = replace(best, actions=actions)
            if fails(candidate):
                best = candidate
                pieces = max(2, pieces - 1)
                break
        else:
            if size == 1:
                break
            pieces *= 2
    return best


def _simpler(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the same with one thing less that can go wrong. Each is made from the scenario as it was, and tried
    alone."""
    rates = scenario.rates
    calm = Rates(latency=5, jitter=1)
    yield replace(scenario, rates=calm)
    yield replace(scenario, rates=replace(rates, duplicate=0.0))
    yield replace(scenario, rates=replace(rates, tail=0.0))
    yield replace(scenario, rates=replace(rates, jitter=1))
    yield replace(scenario, rates=replace(rates, loss=0.0))
    yield replace(scenario, rates=replace(rates, loss=rates.loss / 2))
    for at, plan in enumerate(scenario.plans):
        for plain in (
            replace(plan, skew=0),
            replace(plan, batch=0),
            replace(plan, layout="auto"),
            replace(plan, literal=""),
            replace(plan, later=None),
            *(replace(plan, settings=tuple(item for item in plan.settings if item != gone)) for gone in plan.settings),
        ):
            yield replace(scenario, plans=(*scenario.plans[:at], plain, *scenario.plans[at + 1 :]))
    yield from _fewer_nodes(scenario)


def _fewer_nodes(scenario: Scenario) -> Iterator[Scenario]:
    """Yield the scenario without the last participant, and everything it does."""
    if len(scenario.plans) > 2 and not any(plan.key_of == scenario.plans[-1].name for plan in scenario.plans):
        yield scenario.without_last()
