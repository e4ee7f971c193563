"""I16: an engine that is stopped after a step and comes back from its disk goes on as if it had never been away."""

from __future__ import annotations

from dataclasses import replace

from sdschat.sim.phases import Outcome, run
from sdschat.sim.scenario import Scenario

# A wall clock that jumps shifts what was written by it, and ephemeral ids are on no disk; neither is promised.
# Deadlines that other settings would not have made are cut with every start, and with a packet goes what its message
# depends on. Of what came in one millisecond no row tells which was first, so where it is too much others are kept.
_LEFT_OUT = ("jump", "ephemeral")


def check_equivalence(scenario: Scenario, every: int) -> Outcome:
    """Run twice: as it is, and with an engine replaced by its restored self after every `every`th step."""
    kept = tuple(action for action in scenario.actions if action.verb not in _LEFT_OUT)
    limits = tuple(limit for limit in scenario.limits if limit[0] != "FRESH_KEPT")
    plans = tuple(replace(plan, later=None, bodies=0) for plan in scenario.plans)
    scenario = replace(scenario, actions=kept, plans=plans, limits=limits)
    whole = run(scenario, full_trace=True)
    if not whole.good:
        return whole
    mended = run(scenario, full_trace=True, replace_every=every)
    if mended.steps == whole.steps and mended.good:
        return whole
    pairs = zip(whole.steps, mended.steps, strict=False)
    first = next((pair[0] for pair in pairs if pair[0] != pair[1]), None)
    where = "at the end" if first is None else f"at {first[0] / 1000:.1f} s, node {scenario.plans[first[1]].name}"
    whole.rule = "I16"
    whole.what = f"restored engines act otherwise, first {where} {mended.what}".rstrip()
    return whole
