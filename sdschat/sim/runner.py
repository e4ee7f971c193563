"""Many seeds on several cores, and what came of them."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing import get_context

from sdschat.sim.generate import generate
from sdschat.sim.phases import Outcome, run
from sdschat.sim.rare_situations import SITUATIONS
from sdschat.sim.scenario import Scenario, describe
from sdschat.sim.shrink import shrink
from sdschat.sim.varied import varied

# A wall clock that jumps shifts what was written by it, as does a copy of a profile on another clock, and ephemeral
# ids are on no disk; none of it is promised. Deadlines that other settings would not have made are cut with every
# start, and with a packet goes what its message depends on. Of what came in one millisecond no row tells which was
# first, so where it is too much others are kept.
_LEFT_OUT = ("jump", "ephemeral")


def check_equivalence(scenario: Scenario, every: int) -> Outcome:
    """Run twice: as it is, and with an engine replaced by its restored self after every `every`th step."""
    kept = tuple(action for action in scenario.actions if action.verb not in _LEFT_OUT)
    limits = tuple(limit for limit in scenario.limits if limit[0] != "ARRIVALS_KEPT")
    skews = {plan.name: plan.skew for plan in scenario.plans}
    plans = tuple(replace(plan, later=None, bodies=0, skew=skews[plan.key_of or plan.name]) for plan in scenario.plans)
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


_CHUNK = 25
_EQUIVALENCE_EVERY = 40  # one seed in so many is also run with engines restored after every few steps
_SHOWN = 3


@dataclass(slots=True)
class RunSummary:
    """Result of a range of seeds."""

    seeds: int = 0
    delivered: int = 0
    frames: int = 0
    refusals: int = 0
    evidence: int = 0
    false_positives: int = 0
    failures: list[Outcome] = field(default_factory=list)
    healed: dict[str, list[int]] = field(default_factory=dict)  # kind of seed: ms from healing to convergence
    rare: Counter[str] = field(default_factory=Counter)  # rare situation: seeds that met it

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.delivered += outcome.delivered
        self.frames += outcome.frames
        self.refusals += outcome.refusals
        self.evidence += outcome.evidence
        self.false_positives += outcome.false_positives
        self.rare.update(name for name, count in outcome.rare.items() if count)
        if outcome.good:
            name = f"{outcome.timing} timing, {'default' if outcome.usual else 'other'} settings"
            self.healed.setdefault(name, []).append(outcome.healed_for)
        else:
            self.failures.append(outcome)

    def unmet(self) -> list[str]:
        return [name for name in SITUATIONS if not self.rare[name]]

    def reach_lines(self) -> Iterator[str]:
        """Yield a line for each rare situation: how many seeds met it."""
        for name in SITUATIONS:
            yield f"{self.rare[name]:>8,}  {name}"

    def lines(self) -> Iterator[str]:
        yield f"{_seeds(self.seeds)}, {len(self.failures)} failed"
        yield f"{self.delivered:,} deliveries, {self.frames:,} frames, {self.refusals:,} refused"
        yield f"{self.evidence:,} acknowledgements looked into, {self.false_positives:,} filters wrong by chance"
        yield f"{len(SITUATIONS) - len(self.unmet())} of {len(SITUATIONS)} rare situations met"
        for name, times in sorted(self.healed.items()):
            times.sort()
            p50, p99 = times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]
            figures = f"p50 {p50 / 1000:.1f} s, p99 {p99 / 1000:.1f} s, longest {times[-1] / 1000:.1f} s"
            yield f"{name}: {_seeds(len(times))}, from healing to convergence {figures}"


def _seeds(number: int) -> str:
    return f"{number:,} seed{'' if number == 1 else 's'}"


def story(seed: int, profile: str) -> Scenario:
    """Return the scenario that a seed stands for: of every two in a row, `mixed` takes a plain and a varied one."""
    return varied(seed) if profile == "varied" or (profile == "mixed" and seed % 2) else generate(seed)


def run_seed(seed: int, *, profile: str = "mixed") -> Outcome:
    """Run one seed. Profiles: `mixed` (as CI runs it), `plain` and `varied` (each seed once, see generate.py and
    varied.py), `equivalence` (I16 for every seed)."""
    scenario = story(seed, profile)
    if profile == "equivalence" or (profile == "mixed" and seed % _EQUIVALENCE_EVERY < 2):
        outcome = equivalence(scenario)
        if profile == "equivalence" or not outcome.good:
            return replace(outcome, steps=[])
    return run(scenario)


def equivalence(scenario: Scenario) -> Outcome:
    return check_equivalence(scenario, every=1 + scenario.seed % 5)


def _run_chunk(what: tuple[int, int, str]) -> list[Outcome]:
    first, last, profile = what
    return [run_seed(seed, profile=profile) for seed in range(first, last)]


def _outcomes(seeds: range, jobs: int, profile: str) -> Iterator[Outcome]:
    chunks = [(at, min(at + _CHUNK, seeds.stop), profile) for at in range(seeds.start, seeds.stop, _CHUNK)]
    if jobs <= 1:
        for chunk in chunks:
            yield from _run_chunk(chunk)
        return
    with get_context("spawn").Pool(jobs) as pool:
        for outcomes in pool.imap(_run_chunk, chunks):
            yield from outcomes


def run_seeds(seeds: range, jobs: int = 1, *, profile: str = "mixed", progress: bool = False) -> RunSummary:
    """Run all seeds of a range. The summary does not depend on `jobs`."""
    summary = RunSummary()
    began = time.monotonic()
    for outcome in _outcomes(seeds, jobs, profile):
        summary.add(outcome)
        if progress and summary.seeds % _CHUNK == 0:
            rate = summary.seeds / max(time.monotonic() - began, 0.001)
            print(
                f"\r{summary.seeds}/{len(seeds)} seeds, {len(summary.failures)} failed, {rate:.0f} a second ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    if progress:
        print(file=sys.stderr)
    return summary


def explain(outcome: Outcome) -> Iterable[str]:
    """Yield a failure as the shortest conversation found that still breaks the same rule."""
    scenario = varied(outcome.seed) if outcome.variant else generate(outcome.seed)
    attempt = equivalence if outcome.rule == "I16" else run
    smallest = shrink(scenario, attempt)
    again = attempt(smallest)
    return [
        _broken(outcome),
        *(f"    {line}" for line in describe(smallest)),
        f"    # {again.rule}: {again.what}",
    ]


def _broken(outcome: Outcome) -> str:
    return f"{outcome.variant} seed {outcome.seed} breaks {outcome.rule}: {outcome.what}".lstrip()


def tell_seeds(seeds: range, jobs: int, profile: str, *, show: bool, reach: bool) -> int:
    """Print what comes of these seeds, or show them. Return 0 where every invariant held, 1 where one did not."""
    if show:
        for seed in seeds:
            print(*describe(story(seed, profile)), sep="\n")
        return 0
    summary = run_seeds(seeds, min(jobs, len(seeds)), profile=profile, progress=sys.stderr.isatty())
    for line in summary.lines():
        print(line)
    for line in summary.reach_lines() if reach else ():
        print(line)
    for outcome in summary.failures[:_SHOWN]:
        print(*explain(outcome), sep="\n")
    for outcome in summary.failures[_SHOWN:]:
        print(_broken(outcome))
    return 1 if summary.failures else 0
