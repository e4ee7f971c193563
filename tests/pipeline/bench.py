"""Speed: the same questions on the same rows to Spark, DuckDB and pandas; start-up, and taking databases in.

    python -m tests.pipeline.bench --rows 10000000
    python -m tests.pipeline.bench --only start        start, audit, rows or ingest; several are allowed

Start-up is told apart. Every engine has to give the same answer. Times depend on what else the machine does; it is the
ratios within one run that say something. The archive has `tests.pipeline.archive_bench`, simulations
have `tests.pipeline.bench_simulation`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdschat.pipeline.schemas import FIELD, Copy, Packet, ddl
from sdschat.pipeline.sources.databases import PacketMemory, Reading
from sdschat.pipeline.sources.files import read_file
from tests.pipeline.bench_data import NODES, make_copies, make_databases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS = ("start", "audit", "rows", "ingest")
_HONEST = (
    "On one machine and at these sizes DuckDB answers first, and needs no Java. Spark pays where rows are on several "
    "machines or do not fit into one, for a stream that counts every row once, and for spreading simulations."
)
Answers = dict[str, object]


class Clock:
    """What was measured, printed as it comes."""

    @contextmanager
    def __call__(self, what: str, engine: str, rows: int = 0, bar: str = "") -> Iterator[None]:
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        speed = f"{rows / seconds:12,.0f} rows/s" if rows else " " * 19
        print(f"{what:52} {engine:18} {seconds:9.3f} s {speed}  {bar}", flush=True)


def _command(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def start_up(clock: Clock) -> None:
    with clock("python -c 'import sdschat.pipeline'", "", bar="0.2 s over Python's own"):
        _command("-c", "import sdschat.pipeline")
    with clock("python -c pass", ""):
        _command("-c", "pass")
    with clock("sdschat pipeline doctor", "", bar="2 s"):
        _command("-m", "sdschat", "pipeline", "doctor")


class Questions:
    """To one engine: which stretches differ, what is missing, how long it took."""

    def __init__(self, stretches: Callable[[], object], missing: Callable[[], object], late: Callable[[], object]):
        self.ask = {"stretches of logs that differ": stretches, "messages missing": missing, "latencies": late}


def of_spark(spark: SparkSession, path: Path) -> Questions:
    from pyspark.sql import functions as F

    from sdschat.pipeline.transforms.fingerprint import fingerprints, in_buckets

    copies = spark.read.schema(ddl(Copy)).parquet(str(path))

    def differing() -> DataFrame:
        sums = fingerprints(copies).groupBy("run_id", "channel", "bucket").agg(
            F.count("*").alias("nodes"), F.count_distinct("n", "x1", "x2").alias("kinds")
        )  # fmt: skip
        return sums.where((F.col("kinds") > 1) | (F.col("nodes") < NODES)).select("run_id", "channel", "bucket")

    def missing() -> int:
        part = in_buckets(copies, differing())
        counts = part.groupBy("channel", "message_id").agg((NODES - F.count("*")).alias("lacking"))
        return int(counts.agg(F.sum("lacking")).collect()[0][0] or 0)

    def late() -> list[int]:
        spread = F.percentile(F.col("received_ms") - F.col("lamport"), F.array(F.lit(0.5), F.lit(0.99)))
        return [round(value) for value in copies.select(spread).collect()[0][0]]

    return Questions(lambda: differing().count(), missing, late)


def of_duckdb(path: Path) -> Questions:
    import duckdb

    rows = f"read_parquet('{path}/*.parquet')"
    marks = "count(*) n, bit_xor(hash(lamport, message_id, sender)) x"
    prints = f"SELECT channel, lamport >> 17 AS bucket, node, {marks} FROM {rows} GROUP BY ALL"
    sums = f"SELECT count(*) c, count(DISTINCT (n, x)) d FROM ({prints}) GROUP BY channel, bucket"
    lacking = f"SELECT sum({NODES} - n) FROM (SELECT count(*) n FROM {rows} GROUP BY channel, message_id)"

    def one(question: str) -> Any:
        with duckdb.connect() as database:
            return database.execute(question).fetchall()[0][0]

    def late() -> list[int]:
        return [round(value) for value in one(f"SELECT quantile_cont(received_ms - lamport, [0.5, 0.99]) FROM {rows}")]

    stretches = f"SELECT count(*) FROM ({sums}) WHERE d > 1 OR c < {NODES}"
    return Questions(lambda: int(one(stretches)), lambda: int(one(lacking)), late)


def of_pandas(path: Path) -> Questions:
    pd: Any = importlib.import_module("pandas")

    def read(*columns: str) -> Any:
        return pd.read_parquet(path, columns=list(columns))

    def stretches() -> int:
        rows = read("channel", "node", "lamport")
        rows["bucket"] = rows["lamport"] // 2**17
        sizes = rows.groupby(["channel", "bucket", "node"]).size().groupby(["channel", "bucket"])
        return int(((sizes.nunique() > 1) | (sizes.size() < NODES)).sum())  # by number alone: it has no xor

    def missing() -> int:
        return int((NODES - read("channel", "message_id").groupby(["channel", "message_id"]).size()).sum())

    def late() -> list[int]:
        rows = read("lamport", "received_ms")
        return [round(value) for value in (rows["received_ms"] - rows["lamport"]).quantile([0.5, 0.99])]

    return Questions(stretches, missing, late)


def rows(clock: Clock, spark: SparkSession, folder: Path, count: int) -> None:
    lost = make_copies(folder / "copies", count)
    engines = [
        ("Spark, first time", of_spark(spark, folder / "copies")), ("Spark, again", of_spark(spark, folder / "copies")),
        ("DuckDB", of_duckdb(folder / "copies")), ("pandas", of_pandas(folder / "copies")),
    ]  # fmt: skip
    bars = {"stretches of logs that differ": "8 s of 10,000,000", "latencies": "10 s of 10,000,000"}
    for what in engines[0][1].ask:
        answers: Answers = {}
        for name, questions in engines:
            with clock(f"{count:,} rows: {what}", name, count, bars.get(what, "10 s of 10,000,000")):
                answers[name] = questions.ask[what]()
        assert len({str(answer) for answer in answers.values()}) == 1, (what, answers)
        assert what != "messages missing" or answers["DuckDB"] == lost


def ingest(clock: Clock, spark: SparkSession, folder: Path, messages: int) -> None:
    from sdschat.pipeline.ingest import ingest as take_in
    from sdschat.pipeline.lake import Lake

    paths = make_databases(folder / "ingest", 10, messages)
    memory = PacketMemory()
    with clock("10 databases, read", "plain Python"):
        count = sum(1 for path in paths for row in read_file(Reading(FIELD, path, 1, memory)))
    lake = Lake(spark, str(folder / "lake"))
    for again in ("", ", the same once more"):
        with clock(f"10 databases into a lake{again}", "Spark", count, "150,000 rows/s" if not again else ""):
            added = take_in(lake, paths, FIELD, 1)
        assert all(row.added == (0 if again else row.read) for row in added), added
    assert lake.read(Packet).isEmpty()


def audit(clock: Clock, folder: Path) -> None:
    make_databases(folder / "audit", 10, 10_000)
    with clock("sdschat audit, 10 nodes of 10,000 messages", "plain Python", 100_000, "1 s"):
        _command("-m", "sdschat", "audit", str(folder / "audit"))


def main(argv: Sequence[str] | None = None) -> int:
    from sdschat.pipeline.session import Where, spark

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--messages", type=int, default=10_000, help="in each database that is taken in")
    parser.add_argument("--memory", default="2g", help="of the driver")
    options = parser.parse_args(argv)
    parts, clock = options.only or PARTS, Clock()
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        folder = Path(scratch)
        if "start" in parts:
            start_up(clock)
        if "audit" in parts:
            audit(clock, folder)
        if {"rows", "ingest"} & set(parts):
            where = Where("local[2]", conf=(("spark.driver.memory", options.memory),))
            with clock("a session", "Spark", bar="10 s; 4 s after warmup"):
                session = stack.enter_context(spark(where))
            if "rows" in parts:
                rows(clock, session, folder, options.rows)
            if "ingest" in parts:
                ingest(clock, session, folder, options.messages)
    print(f"load of the machine: {os.getloadavg()[0]:.1f}. {_HONEST}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
