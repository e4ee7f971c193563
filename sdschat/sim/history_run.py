"""Runs with joiners and month-long absences: whoever comes late ends up with everything that was ever said.

A run is a scenario as any other, in which one participant is away from early on. When its faults are over, a month
passes in which all machines are off; the others talk again; another month passes, and then everyone is there, the one
who was away and somebody who was never there before among them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from sdschat.sds.config import Config
from sdschat.sim.check_end import check_end, check_replay
from sdschat.sim.generate import generate, limits
from sdschat.sim.history import HistoryWorld
from sdschat.sim.liveness import check_liveness
from sdschat.sim.phases import Outcome, _where, not_converged, patience
from sdschat.sim.scenario import Action, Plan, Scenario, Violation, config_for
from sdschat.sim.world import ACTION, Trace

MONTH = 30 * 24 * 3600 * 1000
_MORE = 20  # messages that are sent between the two months, at most
_CATCHING_UP = 300_000  # what a comparison may take beside anti-entropy, over a network that is whole


Worlds = Callable[[Scenario, list[Config], Trace], HistoryWorld]


@dataclass(slots=True)
class HistorySummary:
    seeds: int = 0
    delivered: int = 0
    fetched: int = 0  # of these, by catching up
    failures: list[Outcome] = field(default_factory=list)


def scenario_for(seed: int) -> Scenario:
    """Return the scenario that `generate` makes, with a participant more who joins at the very end, and without what
    takes messages along: one who leaves for good may have the only copy of them."""
    made = generate(seed)
    kept = tuple(action for action in made.actions if action.verb not in ("leave", "flood", "jump"))
    plans = tuple(replace(plan, skew=0) for plan in made.plans)
    return replace(made, actions=kept, plans=(*plans, Plan("newcomer", joins=True)), limits=())


def run(seed: int, make: Worlds = HistoryWorld) -> tuple[Outcome, int]:
    """Return the outcome, and how many messages came by catching up."""
    scenario = scenario_for(seed)
    trace = Trace(False)
    outcome = Outcome(seed, timing=scenario.timing)
    world = None
    try:
        with limits(scenario.limits):
            configs = [config_for(scenario.config, plan.layout) for plan in scenario.plans]
            world = make(scenario, configs, trace)
            _live(world, Random(seed))
    except Violation as violation:
        outcome.rule, outcome.what = violation.rule, violation.what
    except Exception as error:
        outcome.rule, outcome.what = "I13", _where(error)
    if world is not None:
        outcome.delivered, outcome.frames = world.oracle.delivered, world.frames
    outcome.trace, outcome.steps = trace.digest(), trace.steps
    return outcome, 0 if world is None else world.fetched


def run_seeds(seeds: Iterable[int], make: Worlds = HistoryWorld) -> HistorySummary:
    summary = HistorySummary()
    for seed in seeds:
        outcome, fetched = run(seed, make)
        summary.seeds += 1
        summary.delivered += outcome.delivered
        summary.fetched += fetched
        if not outcome.good:
            summary.failures.append(outcome)
    return summary


def main(make: Worlds = HistoryWorld, arguments: Sequence[str] | None = None) -> int:
    """Run `python -m sdschat.sim.history_run --seeds N`. Return 0 if every invariant held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    options = parser.parse_args(arguments)
    summary = run_seeds(range(options.first, options.first + options.seeds), make)
    print(f"{summary.seeds} seeds, {len(summary.failures)} failed; {summary.delivered} deliveries, of which", end=" ")
    print(f"{summary.fetched} by catching up")
    for outcome in summary.failures:
        print(f"seed {outcome.seed} breaks {outcome.rule}: {outcome.what}")
    return 1 if summary.failures else 0


def _live(world: HistoryWorld, draw: Random) -> None:
    scenario = world.scenario
    away = draw.randrange(len(world.nodes) - 1)
    newcomer = len(world.nodes) - 1
    for node in world.nodes:
        if not node.gone:
            world.boot(node)
    for action in scenario.actions:
        if action.verb != "join" or action.node != newcomer:
            world.schedule(action.at, ACTION, -1, action)
    leaves_at = draw.randint(0, scenario.heal_at // 2)
    world.schedule(leaves_at, ACTION, -1, Action(leaves_at, "gone for long", away))
    world.run(scenario.heal_at, _act)
    _month(world, except_for={away, newcomer})
    interval = scenario.config.sync_interval
    for number in range(draw.randint(0, _MORE)):
        at = world.time + draw.randint(1, 2 * interval)
        others = [node.index for node in world.nodes if node.index not in (away, newcomer)]
        world.schedule(at, ACTION, -1, Action(at, "send", draw.choice(others), 10_000 + number))
    world.run(world.time + 3 * interval, _act)
    _month(world, except_for=set())
    _heal(world)
    began = world.time
    at_rest = began + world.came_back()
    world.until_settled = True
    within = patience(scenario) + _CATCHING_UP
    world.run(began + within, _act)
    if world.oracle.convergence.outstanding:
        raise Violation("I5", not_converged(world, within))
    world.until_settled = False
    world.run(max(world.time, at_rest) + 2 * interval + scenario.rates.tail_ms, _act)
    check_end(world)
    world.check()
    check_liveness(world)
    world.check_rest()
    check_replay(world)


def _act(world: HistoryWorld, action: Action) -> None:
    world.act(action)
    for index in [index for index in world.companions if world.nodes[index].channel is None]:
        del world.companions[index]
    if action.verb in ("crash", "leave", "join", "restart", "online", "offline", "gone for long"):
        world.people_changed()


def _month(world: HistoryWorld, except_for: set[int]) -> None:
    """Switch all machines off for a month; then switch them on, but for some."""
    for node in world.nodes:
        node.kill()
    world.companions.clear()
    world.run(world.time + MONTH, _act)
    for node in world.nodes:
        node.armed = ""
        node.gone = node.index in except_for or (node.gone and not node.boots and bool(except_for))
        if not node.gone:
            node.online = True
            world.boot(node)


def _heal(world: HistoryWorld) -> None:
    """End all faults: everyone is there, the network is whole, and everything that was ever said is owed to
    everyone."""
    world.network.calm = True
    world.network.blocked = frozenset()
    world.oracle.convergence.begin(world.time, {node.index: world.owed_from(node) for node in world.nodes})


if __name__ == "__main__":
    raise SystemExit(main())
