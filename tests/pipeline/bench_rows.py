"""Rows of the lake: the three engines side by side, and the stages as the commands run them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sdschat.audit.rules import DEFAULT
from sdschat.audit.schemas import AuditMissing, Copy, Event, Fingerprint, Message, Node, Presence, ddl
from sdschat.pipeline.session import Where
from sdschat.pipeline.session.warm import warm_up
from tests.pipeline.bench_bars import Bar, Bars
from tests.pipeline.bench_data import WITH_GAPS, make_messages, members, readings
from tests.pipeline.bench_engines import LATENCIES, MISSING, STRETCHES, of_duckdb, of_pandas, of_spark
from tests.pipeline.bench_start import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FULL = 10_000_000  # rows for which the bars are set
_BARS = {STRETCHES: Bar(5, 8), MISSING: Bar(5, 10), LATENCIES: Bar(7, 10)}


# A process that has done nothing before.
_WARMED_UP = """
import sys, time
from pathlib import Path
from sdschat.pipeline.session import Where, spark
from tests.pipeline.bench_engines import STRETCHES, of_spark
where = Where("local[2]", conf=(("spark.driver.memory", sys.argv[3]),), cache=Path(sys.argv[2]))
with spark(where) as session:
    ask = of_spark(session, Path(sys.argv[1])).ask[STRETCHES]
    began = time.perf_counter()
    answer = ask()
    print(time.perf_counter() - began, answer)
"""


def warmed_up(bars: Bars, copies: Path, folder: Path, count: int, memory: str) -> None:
    """Measure the first question in a session with the class archive."""
    warm_up(Where("local[2]", cache=folder / "cache"))
    seconds, answer = run("-c", _WARMED_UP, str(copies), str(folder / "cache"), memory).split()
    assert int(answer) > 0
    bar = _BARS[STRETCHES] if count >= FULL else None
    bars.tell(f"{count:,} rows: {STRETCHES}", "Spark, warmed up", float(seconds), "s", bar)


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


def conform(bars: Bars, spark: SparkSession, copies: Path, folder: Path, count: int) -> Path:
    """Measure bronze to silver, with a twentieth of the messages in two readings. Return the path of the copies."""
    from sdschat.pipeline.lake import Lake, no_rows
    from sdschat.pipeline.transforms.conform import copies as conformed
    from sdschat.pipeline.transforms.conform import in_order

    lake = Lake(spark, str(folder / "bronze-lake"))
    make_messages(copies, Path(lake.path(Message)))
    held, nodes = lake.read(Message), spark.createDataFrame(readings(), ddl(Node))
    with bars(f"{count:,} rows: bronze to silver", "Spark", count, Bar(4, 75) if count >= FULL else None):
        silver = lake.replace(Copy, in_order(conformed(held, no_rows(spark, Event), nodes)))
    assert silver.count() == spark.read.parquet(str(copies)).count()
    size = sum(path.stat().st_size for path in Path(lake.path(Copy)).rglob("*.parquet"))
    bars.tell("a row of silver", "", size / count, "B/row", Bar(4, 10, "B/row") if count >= FULL else None)
    return Path(lake.path(Copy))


def stages(bars: Bars, spark: SparkSession, silver: Path, folder: Path, count: int, lost: int) -> None:
    """Measure the stages as `sdschat pipeline audit` runs them, with all tables."""
    from sdschat.pipeline import stages as do
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.transforms.fingerprint import divergent, fingerprints

    lake = Lake(spark, str(folder / "lake"))
    (folder / "lake" / "silver").mkdir(parents=True)
    Path(lake.path(Copy)).symlink_to(silver)
    lake.keep(Presence, members())
    lake.keep(Node, readings())

    def bar(number: int, limit: float) -> Bar | None:
        return Bar(number, limit) if count >= FULL else None

    with bars(f"{count:,} rows: fingerprints into the lake", "Spark", count, bar(5, 8)):
        lake.replace(Fingerprint, fingerprints(lake.read(Copy)))
    with bars(f"{count:,} rows: the canonical log", "Spark", count):
        do.consolidate(lake)
    with bars(f"{count:,} rows: audit, 1 % of the stretches differ", "Spark", count, bar(5, 10)):
        do.audit(lake, DEFAULT)
    assert lake.read(AuditMissing).count() == lost
    sound = (lake.read(of).where(f"node > '{WITH_GAPS[-1]}'") for of in (Fingerprint, Presence))
    with bars(f"{count:,} rows: all agree, by stored fingerprints", "Spark", count, bar(5, 2)):
        assert divergent(*sound).isEmpty()
