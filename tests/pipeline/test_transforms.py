"""Stages on Spark, with rows given here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.audit.schemas import Copy, Fingerprint
from tests.needs import needs_module
from tests.pipeline.frames import frame, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

needs_module("pyspark")
needs_module("pyarrow")


def copy(node: str, message_id: str, lamport: int, digest: str = "d", damage: str | None = None) -> Copy:
    return Copy(
        "field",
        "lobby",
        node,
        message_id,
        lamport,
        "ann",
        (),
        digest,
        node == "ann",
        "live",
        lamport + 5,
        "log",
        damage,
    )


def test_fingerprints_need_one_shuffle_and_no_join(spark: SparkSession) -> None:
    """All rows are read for this, so it must stay cheap: Spark's plan shows that it does."""
    from sdschat.pipeline.transforms.fingerprint import fingerprints

    plan = plan_of(fingerprints(frame(spark, Copy, [copy("ann", "a", 1)])))
    assert plan.count("Exchange") == 1
    assert "Join" not in plan
    assert "Window" not in plan


def test_tables_of_plain_python_and_of_spark_have_the_same_columns(spark: SparkSession) -> None:
    from sdschat.audit.schemas import columns, ddl
    from sdschat.lake.places import PLACES

    for table in PLACES:
        assert spark.createDataFrame([], ddl(table)).columns == list(columns(table))
    assert ddl(Fingerprint).startswith("run_id STRING, channel STRING, node STRING, bucket BIGINT")
