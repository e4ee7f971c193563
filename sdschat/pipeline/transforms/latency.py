"""Delivery times; the same as `sdschat.pipeline.reference.latency`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sdschat.audit.schemas import MetricsClock, MetricsDelivery
from sdschat.pipeline.reference.latency import HOUR
from sdschat.pipeline.transforms.columns import CHANNEL, DELIVERED, HELD, MESSAGE, at, table

SHARES = (0.5, 0.95, 0.99)
SKETCHED: Final = 8_192  # a sketch holds this many exact values; with more, its shares are exact to RANK_ERROR
RANK_ERROR: Final = 0.0004


def percentiles(value: Column) -> Column:
    """Return all percentiles at once: one query for each would sort the values each time."""
    return F.percentile(value, F.array(*map(F.lit, SHARES)))


def spread(rows: DataFrame, name: str, prefix: str) -> DataFrame:
    """Split the column of percentiles `name` into three columns."""
    return rows.withColumns({f"{prefix}p{round(share * 100)}": F.col(name)[at] for at, share in enumerate(SHARES)})


def passages(events: DataFrame) -> DataFrame:
    """Event -> run_id, channel, message_id, sender, node, via, sent_ms, delivered_ms, raw.

    One row for each delivery for which the sender's journal has the time of sending.
    """
    named = events.where(F.col("message_id").isNotNull())
    sent = (
        named.where((F.col("event") == "sent") & (F.col("cause") == "message"))
        .groupBy(*HELD)
        .agg(F.min_by("ts_ms", at()).alias("sent_ms"))
    )
    told = F.min_by(F.struct("sender", "cause", "ts_ms"), at()).alias("told")
    delivered = named.where(F.col("event") == DELIVERED).groupBy(*HELD).agg(told)
    arrived = delivered.select(
        *HELD,
        "told.sender",
        F.coalesce("told.cause", F.lit("")).alias("via"),
        F.col("told.ts_ms").alias("delivered_ms"),
    ).where(F.col("sender") != F.col("node"))
    return arrived.join(sent.withColumnRenamed("node", "sender"), [*MESSAGE, "sender"]).withColumn(
        "raw", F.col("delivered_ms") - F.col("sent_ms")
    )


def clocks(found: DataFrame) -> DataFrame:
    """`passages` -> MetricsClock."""
    ways = found.groupBy(*CHANNEL, "sender", "node").agg(F.count("*").alias("n"), F.min("raw").alias("fastest"))
    pair = [*CHANNEL, "node", "peer"]
    out = ways.select(
        *CHANNEL,
        F.col("sender").alias("node"),
        F.col("node").alias("peer"),
        F.col("n").alias("out"),
        F.col("fastest").alias("fastest_out"),
    )
    back = ways.select(
        *CHANNEL,
        "node",
        F.col("sender").alias("peer"),
        F.col("n").alias("back"),
        F.col("fastest").alias("fastest_back"),
    )
    both = out.join(back, pair, "full").na.fill(0, ["out", "back"])
    return table(
        both.withColumns(
            {
                "offset_ms": (F.col("fastest_out") - F.col("fastest_back")) / 2,
                "uncertainty_ms": (F.col("fastest_out") + F.col("fastest_back")) / 2,
            }
        ),
        MetricsClock,
    )


def deliveries(found: DataFrame, pairs: DataFrame) -> DataFrame:
    """`passages`, MetricsClock -> MetricsDelivery."""
    offsets = pairs.select(*CHANNEL, F.col("node").alias("sender"), F.col("peer").alias("node"), "offset_ms")
    timed = found.join(F.broadcast(offsets), [*CHANNEL, "sender", "node"], "left").withColumns(
        {"right": F.col("raw") - F.col("offset_ms"), "hour_ms": F.col("sent_ms") - F.col("sent_ms") % HOUR}
    )
    best = F.coalesce("right", F.col("raw").cast("double"))
    groups = timed.groupBy(*CHANNEL, "via", "hour_ms").agg(
        F.count("*").alias("delivered"),
        F.count_if(F.col("raw") < 0).alias("negative"),
        percentiles(F.col("raw")).alias("raws"),
        F.count("right").alias("corrected"),
        F.count_if(F.col("right") < 0).alias("corrected_negative"),
        percentiles(F.col("right")).alias("rights"),
        F.max("right").alias("longest"),
        F.kll_sketch_agg_double(best, SKETCHED).alias("sketch"),
    )
    return table(spread(spread(groups, "raws", "raw_"), "rights", ""), MetricsDelivery)
