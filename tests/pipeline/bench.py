"""Every bar of the data pipeline with its measured value. pandas and DuckDB answer the same questions on the same rows.

    python -m tests.pipeline.bench                            a few minutes: start, audit, rows, ingest
    python -m tests.pipeline.bench --only start --only rows   those parts
    python -m tests.pipeline.bench --all                      about half an hour, 10 GiB of disk, 10 GiB of memory

Parts: start (import, doctor, sessions), audit (without Spark), rows (silver, fingerprints, audits, latencies), ingest,
stream, simulation, archive. Start-up is measured apart: sessions are opened before anything else is
timed, and Spark's first run is shown beside its second. Every engine must give the same answer. Times depend on the
other work of the machine; compare the ratios within one run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.pipeline import archive_bench, bench_ingest, bench_simulation, bench_stream
from tests.pipeline.bench_bars import Bars
from tests.pipeline.bench_data import make_copies
from tests.pipeline.bench_rows import FULL, engines, verdicts, warmed_up
from tests.pipeline.bench_start import load, sessions, small_audit, start_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HONEST = (
    "On one machine and at these sizes DuckDB answers first, and needs no Java. Spark pays where rows are on several "
    "machines or do not fit into one, and for spreading simulations."
)


@contextmanager
def session(bars: Bars, options: argparse.Namespace) -> Iterator[SparkSession]:
    from sdschat.pipeline.session import SparkTarget, spark

    began = time.perf_counter()
    with spark(SparkTarget("local[2]", conf=(("spark.driver.memory", options.memory),))) as found:
        bars.tell("a session", "Spark", time.perf_counter() - began, "s")
        yield found


def _start(bars: Bars, folder: Path, options: argparse.Namespace) -> None:
    start_up(bars)
    sessions(bars)


def _audit(bars: Bars, folder: Path, options: argparse.Namespace) -> None:
    small_audit(bars, folder)


def _rows(bars: Bars, folder: Path, options: argparse.Namespace) -> None:
    lost = make_copies(folder / "copies", options.rows)
    warmed_up(bars, folder / "copies", folder, options.rows, options.memory)
    with session(bars, options) as spark:
        engines(bars, spark, folder / "copies", options.rows, lost)
        verdicts(bars, spark, folder / "copies", folder / "rows", options.rows, lost)


def _ingest(bars: Bars, folder: Path, options: argparse.Namespace) -> None:
    bench_ingest.measure(bars, folder, options.messages)


def _stream(bars: Bars, folder: Path, options: argparse.Namespace) -> None:
    bench_stream.measure(bars, folder)


def _simulation(bars: Bars, folder: Path, options: argparse.Namespace) -> None:
    bench_simulation.measure(bars)


def _archive(bars: Bars, folder: Path, options: argparse.Namespace) -> None:
    archive_bench.measure_all(bars, folder / "archive")


Part = Callable[[Bars, Path, argparse.Namespace], None]
_QUICK: Final[Mapping[str, Part]] = {"start": _start, "audit": _audit, "rows": _rows, "ingest": _ingest}
_LONG: Final[Mapping[str, Part]] = {
    "stream": _stream,
    "simulation": _simulation,
    "archive": _archive,
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[*_QUICK, *_LONG], help="may be given several times")
    parser.add_argument("--all", action="store_true", help="the parts that take long too")
    parser.add_argument("--rows", type=int, default=FULL, help=f"the bars are about {FULL:,}; with less none is judged")
    parser.add_argument("--messages", type=int, default=100_000, help="in each large database that is taken in")
    parser.add_argument("--memory", default="4g", help="of the driver")
    options = parser.parse_args(argv)
    every, bars = {**_QUICK, **_LONG}, Bars()
    for name in options.only or (every if options.all else _QUICK):
        print(f"{name}, {load()}", flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            every[name](bars, Path(scratch), options)
    print(*bars.summary(), _HONEST, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
