"""The same questions on the same rows for Spark, DuckDB and pandas. All must give the same answers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdschat.audit.schemas import ddl
from tests.pipeline.bench_data import NODES, Copy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MISSING, LATENCIES = "messages missing", "latencies"


class Questions:
    """The questions to one engine: the missing messages, and the delivery times."""

    def __init__(self, missing: Callable[[], object], late: Callable[[], object]):
        self.ask = {MISSING: missing, LATENCIES: late}


def of_spark(spark: SparkSession, path: Path) -> Questions:
    from pyspark.sql import functions as F

    copies = spark.read.schema(ddl(Copy)).parquet(str(path))

    def missing() -> int:
        counts = copies.groupBy("channel", "message_id").agg((NODES - F.count("*")).alias("lacking"))
        return int(counts.agg(F.sum("lacking")).collect()[0][0] or 0)

    def late() -> list[int]:
        spread = F.percentile(F.col("received_ms") - F.col("lamport"), F.array(F.lit(0.5), F.lit(0.99)))
        return [round(value) for value in copies.select(spread).collect()[0][0]]

    return Questions(missing, late)


def of_duckdb(path: Path) -> Questions:
    import duckdb

    rows = f"read_parquet('{path}/*.parquet')"
    lacking = f"SELECT sum({NODES} - n) FROM (SELECT count(*) n FROM {rows} GROUP BY channel, message_id)"

    def one(question: str) -> Any:
        with duckdb.connect() as database:
            return database.execute(question).fetchall()[0][0]

    def late() -> list[int]:
        return [round(value) for value in one(f"SELECT quantile_cont(received_ms - lamport, [0.5, 0.99]) FROM {rows}")]

    return Questions(lambda: int(one(lacking)), late)


def of_pandas(path: Path) -> Questions:
    pd: Any = importlib.import_module("pandas")

    def read(*columns: str) -> Any:
        return pd.read_parquet(path, columns=list(columns))

    def missing() -> int:
        return int((NODES - read("channel", "message_id").groupby(["channel", "message_id"]).size()).sum())

    def late() -> list[int]:
        rows = read("lamport", "received_ms")
        return [round(value) for value in (rows["received_ms"] - rows["lamport"]).quantile([0.5, 0.99])]

    return Questions(missing, late)
