"""Many seeds on several cores, and what came of them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import get_context

from sdschat.sim.equivalence import check_equivalence
from sdschat.sim.generate import generate
from sdschat.sim.language import describe
from sdschat.sim.phases import Outcome, run
from sdschat.sim.scenario import Scenario
from sdschat.sim.shrink import shrink

_CHUNK = 25
_EQUIVALENCE_EVERY = 40  # one seed in so many is also run with engines restored after every few steps
_SHOWN = 3


@dataclass(slots=True)
class Summary:
    """What a range of seeds came to."""

    seeds: int = 0
    delivered: int = 0
    frames: int = 0
    refusals: int = 0
    evidence: int = 0
    false_positives: int = 0
    failures: list[Outcome] = field(default_factory=list)
    healed: dict[str, list[int]] = field(default_factory=dict)  # kind of seed: ms from healing to convergence

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.delivered += outcome.delivered
        self.frames += outcome.frames
        self.refusals += outcome.refusals
        self.evidence += outcome.evidence
        self.false_positives += outcome.false_positives
        if outcome.good:
            name = f"{outcome.timing} timing, {'default' if outcome.usual else 'other'} settings"
            self.healed.setdefault(name, []).append(outcome.healed_for)
        else:
            self.failures.append(outcome)

    def lines(self) -> Iterator[str]:
        yield f"{_seeds(self.seeds)}, {len(self.failures)} failed"
        yield f"{self.delivered:,} deliveries, {self.frames:,} frames, {self.refusals:,} refused"
        yield f"{self.evidence:,} acknowledgements looked into, {self.false_positives:,} filters wrong by chance"
        for name, times in sorted(self.healed.items()):
            times.sort()
            p50, p99 = times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]
            figures = f"p50 {p50 / 1000:.1f} s, p99 {p99 / 1000:.1f} s, longest {times[-1] / 1000:.1f} s"
            yield f"{name}: {_seeds(len(times))}, from healing to convergence {figures}"


def _seeds(number: int) -> str:
    return f"{number:,} seed{'' if number == 1 else 's'}"


def run_seed(seed: int, *, profile: str = "mixed") -> Outcome:
    """One seed. Profiles: `mixed` (as CI runs it), `plain` (each seed once), `equivalence` (I16 for every seed)."""
    scenario = generate(seed)
    if profile == "equivalence" or (profile == "mixed" and seed % _EQUIVALENCE_EVERY == 0):
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


def run_seeds(seeds: range, jobs: int = 1, *, profile: str = "mixed", progress: bool = False) -> Summary:
    """All seeds of a range. The summary does not depend on `jobs`."""
    summary = Summary()
    began = time.monotonic()
    for outcome in _outcomes(seeds, jobs, profile):
        summary.add(outcome)
        if progress and summary.seeds % _CHUNK == 0:
            rate = summary.seeds / max(time.monotonic() - began, 0.001)
            print(
                f"\r{summary.seeds}/{len(seeds)} seeds, {len(summary.failures)} failed, {rate:.0f} a second ",
                end="", file=sys.stderr, flush=True,
            )  # fmt: skip
    if progress:
        print(file=sys.stderr)
    return summary


def explain(outcome: Outcome) -> Iterable[str]:
    """A failure as the shortest conversation found that still breaks the same rule."""
    scenario = generate(outcome.seed)
    attempt = equivalence if outcome.rule == "I16" else run
    smallest = shrink(scenario, attempt)
    again = attempt(smallest)
    return [
        f"seed {outcome.seed} breaks {outcome.rule}: {outcome.what}",
        *(f"    {line}" for line in describe(smallest)),
        f"    # {again.rule}: {again.what}",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """`sdschat simulate`: 0 where every invariant held, 1 where one did not."""
    parser = argparse.ArgumentParser(prog="sdschat simulate", description="simulate groups, one seed each")
    parser.add_argument("--seeds", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--profile", choices=("mixed", "plain", "equivalence"), default="mixed")
    parser.add_argument("--show", action="store_true", help="print the seed's conversation instead of running it")
    options = parser.parse_args(argv)
    seeds = range(options.first, options.first + options.seeds)
    if options.show:
        for seed in seeds:
            print(*describe(generate(seed)), sep="\n")
        return 0
    summary = run_seeds(seeds, min(options.jobs, len(seeds)), profile=options.profile, progress=sys.stderr.isatty())
    for line in summary.lines():
        print(line)
    for outcome in summary.failures[:_SHOWN]:
        print(*explain(outcome), sep="\n")
    for outcome in summary.failures[_SHOWN:]:
        print(f"seed {outcome.seed} breaks {outcome.rule}: {outcome.what}")
    return 1 if summary.failures else 0
