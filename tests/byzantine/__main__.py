"""`python -m tests.byzantine [--seeds 300] [--first 0]`: one line for each seed that fails, and the sums."""

from __future__ import annotations

import argparse
import sys

from tests.byzantine.run import run

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seeds", type=int, default=300)
parser.add_argument("--first", type=int, default=0)
chosen = parser.parse_args()
outcomes = [run(seed) for seed in range(chosen.first, chosen.first + chosen.seeds)]
for outcome in outcomes:
    for problem in outcome.problems:
        print(problem)
failed = sum(bool(outcome.problems) for outcome in outcomes)
refused = sum(outcome.refused for outcome in outcomes)
ids = sum(outcome.ids_only for outcome in outcomes)
forks, gaps = (sum(getattr(outcome, name) for outcome in outcomes) for name in ("forks", "gaps"))
slowest = max(outcome.settled for outcome in outcomes) / 1000
print(
    f"{len(outcomes)} seeds, {failed} failed; {refused} packets refused, {ids} messages kept as ids; "
    f"{forks} forks and {gaps} gaps shown; equal logs after {slowest:g} s at the latest"
)
sys.exit(1 if failed else 0)
