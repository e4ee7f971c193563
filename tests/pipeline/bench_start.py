"""The start-up time of every use: import, doctor, a session; and the audit that needs no session."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sdschat.pipeline.session import SparkTarget
from sdschat.pipeline.session.java import warm_up
from tests.pipeline.bench_bars import Bar, Bars
from tests.pipeline.bench_data import make_databases
from tests.pipeline.cluster import connect_server

# A process that opens a session as the commands do, and prints the time for that and for the first answer.
_SESSION = """
import sys, time
from pathlib import Path
from sdschat.pipeline.session import SparkTarget, spark
began = time.perf_counter()
where, cache = sys.argv[1], sys.argv[2]
remote = where if where.startswith("sc://") else ""
with spark(SparkTarget("" if remote else where, remote, cache=Path(cache))) as session:
    opened = time.perf_counter()
    assert session.range(1).count() == 1
    print(opened - began, time.perf_counter() - opened)
"""


def run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


def start_up(bars: Bars) -> None:
    with bars("python -c pass", ""):
        run("-c", "pass")
    loaded = run("-c", "import sys, sdschat.pipeline; print('pyspark' in sys.modules)")
    assert loaded.strip() == "False", "import sdschat.pipeline loads pyspark"
    with bars("python -c 'import sdschat.pipeline'", "", bar=Bar(1, 0.2)):
        run("-c", "import sdschat.pipeline")
    with bars("sdschat pipeline doctor", "", bar=Bar(1, 2)):
        run("-m", "sdschat", "pipeline", "doctor")


def sessions(bars: Bars) -> None:
    """Measure sessions, each in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)

        def tell(engine: str, where: str, bar: Bar) -> None:
            opened, answered = map(float, run("-c", _SESSION, where, str(folder / "cache")).split())
            bars.tell("a session", engine, opened, "s", bar)
            bars.tell("its first answer", engine, answered, "s")

        tell("Spark, plain", "local[2]", Bar(2, 10))
        warm_up(SparkTarget("local[2]", cache=folder / "cache"))
        tell("Spark, warmed up", "local[2]", Bar(2, 4))
        with connect_server(folder, "local[2]") as remote:
            run("-c", _SESSION, remote, str(folder / "cache"))  # the first client starts what the server needs for all
            tell("Connect, reused", remote, Bar(2, 1.5))


def small_audit(bars: Bars, folder: Path) -> None:
    make_databases(folder / "audit", 10, 10_000)
    with bars("sdschat audit, 10 nodes of 10,000 messages", "plain Python", 100_000, Bar(12, 1)):
        run("-m", "sdschat", "audit", str(folder / "audit"))


def load() -> str:
    return f"load of the machine: {os.getloadavg()[0]:.1f}"
