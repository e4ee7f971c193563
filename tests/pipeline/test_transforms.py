"""Stages on Spark, with rows given here; other tests compare them with the reference on many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.audit.schemas import Copy, Fingerprint, Presence
from tests.needs import needs_module
from tests.pipeline.frames import frame, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.pipeline.report.data import Curve

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


def presence(node: str) -> Presence:
    return Presence("field", "lobby", node, node, "log", 0, 0, 1, 10**9)


def test_fingerprints_need_one_shuffle_and_no_join(spark: SparkSession) -> None:
    """All rows are read for this, so it must stay cheap: Spark's plan shows that it does."""
    from sdschat.pipeline.transforms.fingerprint import fingerprints

    plan = plan_of(fingerprints(frame(spark, Copy, [copy("ann", "a", 1)])))
    assert plan.count("Exchange") == 1
    assert "Join" not in plan
    assert "Window" not in plan


def curve_of(spark: SparkSession, count: int) -> Curve:
    """Return the curve of deliveries that took 1, 2, … milliseconds, spread over seven hours."""
    from pyspark.sql import functions as F

    from sdschat.pipeline.report.from_lake import curves
    from sdschat.pipeline.transforms.latency import SKETCHED

    hour, time = (F.col("id") % 7).alias("hour_ms"), (F.col("id") + 1).cast("double").alias("time")
    names = (F.lit(name).alias(of) for name, of in (("field", "run_id"), ("lobby", "channel"), ("live", "via")))
    hours = spark.range(count).select(*names, hour, time).groupBy("run_id", "channel", "via", "hour_ms")
    (found,) = curves(hours.agg(F.kll_sketch_agg_double("time", SKETCHED).alias("sketch")))
    return found


def test_curves_of_as_many_times_as_a_sketch_holds_are_exact(spark: SparkSession) -> None:
    from sdschat.pipeline.reference.spread import within
    from sdschat.pipeline.report.data import SHARES
    from sdschat.pipeline.transforms.latency import SKETCHED

    times = [float(time + 1) for time in range(SKETCHED)]
    curve = curve_of(spark, SKETCHED)
    assert (curve.n, curve.error) == (SKETCHED, 0)
    assert curve.times == tuple(within(times, share) for share in SHARES)


def test_curves_of_more_times_than_a_sketch_holds_say_how_far_they_may_be_off(spark: SparkSession) -> None:
    from sdschat.pipeline.report.data import SHARES
    from sdschat.pipeline.transforms.latency import RANK_ERROR, SKETCHED

    count = 5 * SKETCHED
    curve = curve_of(spark, count)
    assert (curve.n, curve.error) == (count, RANK_ERROR)
    off = [abs(time / count - share) for time, share in zip(curve.times[1:], SHARES[1:], strict=True)]
    assert 0 < max(off) <= 3 * RANK_ERROR  # one in a hundred may exceed the stated error


def test_tables_of_plain_python_and_of_spark_have_the_same_columns(spark: SparkSession) -> None:
    from sdschat.audit.schemas import columns, ddl
    from sdschat.lake.places import PLACES

    for table in PLACES:
        assert spark.createDataFrame([], ddl(table)).columns == list(columns(table))
    assert ddl(Fingerprint).startswith("run_id STRING, channel STRING, node STRING, bucket BIGINT")
