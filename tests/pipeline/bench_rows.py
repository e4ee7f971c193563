"""Rows of the lake: the three engines side by side, and the stages as the commands run them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sdschat.audit.schemas import AuditMissing
from sdschat.audit.verdict import DEFAULT, Rules
from sdschat.lake.judge import audit, consolidate, refine
from sdschat.pipeline.session import SparkTarget
from sdschat.pipeline.session.java import warm_up
from tests.pipeline.bench_bars import Bar, Bars
from tests.pipeline.bench_data import lake_of_copies
from tests.pipeline.bench_engines import LATENCIES, MISSING, of_duckdb, of_pandas, of_spark
from tests.pipeline.bench_start import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.lake.engine import LakeEngine

FULL = 10_000_000  # rows for which the bars are set
_BARS = {MISSING: Bar(5, 10), LATENCIES: Bar(7, 10)}


# A process that has done nothing before.
_WARMED_UP = """
import sys, time
from pathlib import Path
from sdschat.pipeline.session import SparkTarget, spark
from tests.pipeline.bench_engines import MISSING, of_spark
where = SparkTarget("local[2]", conf=(("spark.driver.memory", sys.argv[3]),), cache=Path(sys.argv[2]))
with spark(where) as session:
    ask = of_spark(session, Path(sys.argv[1])).ask[MISSING]
    began = time.perf_counter()
    answer = ask()
    print(time.perf_counter() - began, answer)
"""


def warmed_up(bars: Bars, copies: Path, folder: Path, count: int, memory: str) -> None:
    """Measure the first question in a session with the class archive."""
    warm_up(SparkTarget("local[2]", cache=folder / "cache"))
    seconds, answer = run("-c", _WARMED_UP, str(copies), str(folder / "cache"), memory).split()
    assert int(answer) > 0
    bar = _BARS[MISSING] if count >= FULL else None
    bars.tell(f"{count:,} rows: {MISSING}", "Spark, warmed up", float(seconds), "s", bar)


def engines(bars: Bars, spark: SparkSession, copies: Path, count: int, lost: int) -> None:
    asked = [
        ("Spark, first time", of_spark(spark, copies)),
        ("Spark, again", of_spark(spark, copies)),
        ("DuckDB", of_duckdb(copies)),
        ("pandas", of_pandas(copies)),
    ]
    for what in _BARS:
        answers: dict[str, object] = {}
        for name, questions in asked:
            bar = _BARS[what] if name.startswith("Spark") and count >= FULL else None
            with bars(f"{count:,} rows: {what}", name, count, bar):
                answers[name] = questions.ask[what]()
        assert len({str(answer) for answer in answers.values()}) == 1, (what, answers)
        assert what != MISSING or answers["DuckDB"] == lost


def verdicts(bars: Bars, spark: SparkSession, copies: Path, folder: Path, count: int, lost: int) -> None:
    """Measure the stages as `sdschat pipeline audit` runs them, on both engines.

    A twentieth of the messages is in two readings.
    """
    from sdschat.lake.duck import open_duck
    from sdschat.pipeline.lake import Lake

    lake_of_copies(copies, folder)
    lake = Lake(spark, str(folder))
    with open_duck(folder) as duck:
        _judged(bars, duck, "DuckDB", count, DEFAULT)
    assert lake.read(AuditMissing).count() == lost
    # By other rules everything is judged anew.
    _judged(bars, lake, "Spark, first time", count, DEFAULT._replace(settle=DEFAULT.settle + 1))
    _judged(bars, lake, "Spark, again", count, DEFAULT)
    assert lake.read(AuditMissing).count() == lost


def _judged(bars: Bars, lake: LakeEngine, engine: str, count: int, rules: Rules) -> None:
    bar = Bar(5, 10) if engine == "Spark, again" and count >= FULL else None
    with bars(f"{count:,} rows: bronze to silver", engine, count):
        refine(lake, rules)
    with bars(f"{count:,} rows: the canonical log and the verdict", engine, count, bar):
        consolidate(lake)
        audit(lake)
