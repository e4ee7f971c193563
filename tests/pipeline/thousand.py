"""Results of the production engine with 1,000 participants, stored in a file because they take minutes.

    python -m tests.pipeline.thousand --lake DIR

repeats the runs, for example after a change of the engine. After an interruption the same command continues. One run
takes about half a minute of one core.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sdschat.cli.simulate_grid import told
from sdschat.experiment.grid.compare import Case, cases, engine_runs
from sdschat.experiment.grid.simulate import on_processes, simulate
from sdschat.experiment.runs import SimRun

KEPT: Final = Path(__file__).parent / "thousand.json"
SEEDS: Final = 6


def wanted(seeds: int | None = None) -> list[Case]:
    return cases([1000], seeds or len(kept()) // 2)


def kept() -> list[SimRun]:
    rows = json.loads(KEPT.read_text(encoding="utf-8"))
    return [SimRun(**{**row, "figures": json.dumps(row["figures"])}) for row in rows]


def keep(rows: Sequence[SimRun]) -> None:
    found = [{**row._asdict(), "figures": row.numbers, "wall_s": 0.0} for row in rows]
    lines = ",\n".join(json.dumps(row, sort_keys=True) for row in found)
    KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lake", type=Path, required=True, help="where runs are kept while it goes on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    with told() as tell:
        runs = engine_runs(wanted(options.seeds))
        result = simulate(runs, options.lake, on_processes(options.jobs, None), tell)
    if result.failures:
        raise SystemExit(f"{len(result.failures)} runs failed")
    keep(result.runs)
    print(f"kept {len(result.runs)} runs in {KEPT.name}")


if __name__ == "__main__":
    main()
