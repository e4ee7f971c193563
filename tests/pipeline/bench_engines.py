"""The same questions on the same rows for Spark, DuckDB and pandas. All must give the same answers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdschat.audit.schemas import Copy, Presence, ddl
from tests.pipeline.bench_data import MEMBERS, NODES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STRETCHES, MISSING, LATENCIES = "stretches of logs that differ", "messages missing", "latencies"


class Questions:
    """The questions to one engine: the stretches that differ, the missing messages, and the delivery times."""

    def __init__(self, stretches: Callable[[], object], missing: Callable[[], object], late: Callable[[], object]):
        self.ask = {STRETCHES: stretches, MISSING: missing, LATENCIES: late}


def of_spark(spark: SparkSession, path: Path) -> Questions:
    from pyspark.sql import functions as F

    from sdschat.pipeline.transforms.fingerprint import divergent, fingerprints, in_buckets

    copies = spark.read.schema(ddl(Copy)).parquet(str(path))
    presences = spark.read.schema(ddl(Presence)).parquet(str(path.parent / MEMBERS))

    def differing() -> DataFrame:
        return divergent(fingerprints(copies), presences)

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
        return int(((sizes.nunique() > 1) | (sizes.size() < NODES)).sum())  # by count alone: pandas has no xor

    def missing() -> int:
        return int((NODES - read("channel", "message_id").groupby(["channel", "message_id"]).size()).sum())

    def late() -> list[int]:
        rows = read("lamport", "received_ms")
        return [round(value) for value in (rows["received_ms"] - rows["lamport"]).quantile([0.5, 0.99])]

    return Questions(stretches, missing, late)
