"""A second audit by Spark, and one by DuckDB after it: all tables are those of an audit of everything.

python -m tests.pipeline.again
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from sdschat.lake import judge
from sdschat.lake.tables import BUCKETS
from sdschat.pipeline.lake import Lake
from sdschat.pipeline.session import SparkTarget, spark
from tests.lake.test_again import Row, add, additions, judged, verdict


def main() -> int:
    so_far: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch, spark(SparkTarget("local[2]")) as session:
        folder = Path(scratch)
        for number, rows in enumerate(additions()):
            so_far += rows
            add(folder / "lake", rows)
            if number % 2:
                buckets = judged(folder / "lake")
            else:
                lake = Lake(session, str(folder / "lake"))
                judge.refine(lake)
                judge.consolidate(lake)
                judge.audit(lake)
                buckets = lake.buckets
            assert not number or len(buckets) < len(BUCKETS)
            add(folder / f"whole {number}", so_far)
            judged(folder / f"whole {number}")
            assert verdict(folder / "lake") == verdict(folder / f"whole {number}"), f"after addition {number}"
            print(f"addition {number}: {len(buckets)} of {len(BUCKETS)} parts were judged", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
