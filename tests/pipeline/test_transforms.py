"""Stages on Spark, with rows given here; other tests compare them with the reference on many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.audit.engine import place_hash
from sdschat.audit.schemas import AuditFinding, Copy, Fingerprint, Log, Node, Presence
from tests.audit.worlds import node
from tests.needs import needs_module
from tests.pipeline.frames import frame, plan_of, rows

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


def test_the_log_is_in_the_order_of_lamport_time_and_id_across_buckets(spark: SparkSession) -> None:
    from sdschat.pipeline.transforms.consolidate import consolidate

    copies = [copy("ann", "b", 5_000), copy("ann", "c", 2**18), copy("bob", "a", 5_000), copy("bob", "b", 5_000)]
    found = sorted(rows(consolidate(frame(spark, Copy, copies)), Log), key=lambda row: row.position)
    assert [(row.position, row.message_id, row.copies) for row in found] == [(1, "a", 1), (2, "b", 2), (3, "c", 1)]
    whole = place_hash(5_000, "a") ^ place_hash(5_000, "b") ^ place_hash(2**18, "c")
    assert found[-1].running == f"{whole:032x}"


def test_one_message_is_counted_as_one(spark: SparkSession) -> None:
    from sdschat.pipeline.transforms.findings import counts

    told = {
        (1, 1): "1 message, as its own count says, but not the same",
        (2, 2): "2 messages, as its own count says, but not the same",
        (1, 0): "its own count says 1 message, 0 are there",
        (2, 1): "its own count says 2 messages, 1 is there",
    }
    nodes = [
        node(f"n{claimed}{counted}", claimed, counted=counted, counted_fingerprint="g") for claimed, counted in told
    ]
    found = rows(counts(frame(spark, Node, nodes)), AuditFinding)
    assert {row.detail for row in found} == set(told.values())


def test_the_version_of_most_sound_copies_counts(spark: SparkSession) -> None:
    from sdschat.pipeline.transforms.consolidate import consolidate

    copies = [
        copy("ann", "a", 9_000, damage="altered"),
        copy("bob", "a", 8_000),
        copy("cleo", "a", 7_000, "other"),
        copy("dan", "a", 7_000, "other"),
    ]
    (row,) = rows(consolidate(frame(spark, Copy, copies)), Log)
    assert (row.lamport, row.digest, row.copies) == (7_000, "other", 4)


def test_only_the_bucket_that_differs_diverges(spark: SparkSession) -> None:
    from sdschat.pipeline.transforms.fingerprint import divergent, fingerprints

    copies = [copy(node, name, at) for node in ("ann", "bob") for name, at in (("a", 1), ("b", 2**18), ("c", 2**19))]
    prints = fingerprints(frame(spark, Copy, [row for row in copies if (row.node, row.message_id) != ("bob", "b")]))
    there = frame(spark, Presence, [presence("ann"), presence("bob")])
    assert [row.bucket for row in divergent(prints, there).collect()] == [2]


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
    from sdschat.pipeline.lake import PLACES

    for table in PLACES:
        assert spark.createDataFrame([], ddl(table)).columns == list(columns(table))
    assert ddl(Fingerprint).startswith("run_id STRING, channel STRING, node STRING, bucket BIGINT")
