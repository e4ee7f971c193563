"""An audit of a lake, killed at random moments: never a verdict that is not that of the oracle.

    python -m tests.lake.kills --kills 40

Before each audit more is taken in, so that the verdict of before is not the one of now.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sdschat.audit.node_evidence import BronzeRows
from sdschat.audit.verdict import Audit
from sdschat.lake.duck import open_duck
from sdschat.lake.judge import audit_of
from tests.audit.oracle import oracle
from tests.audit.worlds import drawn
from tests.lake.bronze import bronze


def audit(lake: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sdschat", "pipeline", "audit", "--lake", str(lake), "--engine", "duckdb"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def shown(lake: Path) -> Audit | None:
    """Return the verdict that a report would show, or None if it would be refused."""
    with open_duck(lake) as there:
        return audit_of(there) if there.has_verdict() else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, killed, refused = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        every = BronzeRows()
        began = time.monotonic()
        bronze(lake, drawn(0))
        audit(lake).wait(120)
        whole = time.monotonic() - began
        seed = 0
        while killed < options.kills:  # an audit that was faster than its moment does not count
            group = drawn(seed)
            for name in BronzeRows.__dataclass_fields__:
                getattr(every, name).extend(getattr(group, name))
            if seed:
                bronze(lake, group)
            life = audit(lake)
            time.sleep(draw.uniform(0.2, 0.9) * whole)
            killed += life.poll() is None
            life.kill()
            life.wait(120)
            found = shown(lake)
            refused += found is None
            wanted = sorted(oracle(every).nodes, key=repr)
            assert found is None or sorted(found.nodes, key=repr) == wanted, f"after kill {seed}"
            seed += 1
        audit(lake).wait(120)
        last = shown(lake)
        assert last is not None
        assert sorted(last.missing, key=repr) == sorted(oracle(every).missing, key=repr)
    print(f"{seed} audits, {killed} killed: {refused} times no verdict, else the oracle's; the last is whole")
    return 0


if __name__ == "__main__":
    sys.exit(main())
