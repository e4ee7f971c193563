"""The costs; the same as `sdschat.pipeline.reference.costs`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sdschat.audit.schemas import MetricsAck, MetricsParts, MetricsRejected, MetricsRepair, MetricsTraffic
from sdschat.pipeline.transforms.columns import CHANNEL, DELIVERED, HELD, MEMBER, MESSAGE, at, latest, table
from sdschat.pipeline.transforms.latency import percentiles, spread

_SIZES = ("bytes", "content_bytes", "filter_bytes", "history_bytes", "request_bytes")


def first(events: DataFrame, which: Column) -> DataFrame:
    """Event -> run_id, channel, node, message_id, at, ms: the first of these events for each message."""
    told = events.where(which & F.col("message_id").isNotNull())
    found = told.groupBy(*HELD).agg(F.min(F.struct(at().alias("at"), "ts_ms")).alias("first"))
    return found.select(*HELD, F.col("first.at").alias("at"), F.col("first.ts_ms").alias("ms"))


def after(start: DataFrame, end: DataFrame, name: str) -> DataFrame:
    """`first`, `first` -> run_id, channel, node, `<name>_n`, `<name>_times`: times between the two events."""
    later = end.select(*HELD, F.col("at").alias("end_at"), F.col("ms").alias("end_ms"))
    both = start.join(later, list(HELD)).where(F.col("end_at") > F.col("at"))
    return both.groupBy(*MEMBER).agg(
        F.count("*").alias(f"{name}_n"), percentiles(F.col("end_ms") - F.col("ms")).alias(f"{name}_times")
    )


def acks(events: DataFrame) -> DataFrame:
    """Event -> MetricsAck."""
    here = events.where(F.col("channel") != "")
    kind, cause = F.col("event"), F.col("cause")
    told = kind.isin("possibly_acked", "acked")
    sent = first(here, (kind == "sent") & (cause == "message"))
    counts = (
        here.where(told | ((kind == "sent") & cause.isin("message", "resend")))
        .groupBy(*MEMBER)
        .agg(
            F.count_distinct(F.when((kind == "sent") & (cause == "message"), F.col("message_id"))).alias("sent"),
            F.count_if((kind == "sent") & (cause == "resend")).alias("resends"),
            *(F.count_if(told & (cause == how)).alias(f"by_{how}") for how in ("mention", "filter", "range")),
        )
    )
    joined = counts
    for name, event in (("possibly", "possibly_acked"), ("acked", "acked")):
        joined = joined.join(after(sent, first(here, kind == event), name), list(MEMBER), "left")
    joined = joined.na.fill(0, ["possibly_n", "acked_n"])
    named = joined.withColumns({"possibly_acked": F.col("possibly_n"), "acked": F.col("acked_n")})
    return table(spread(spread(named, "possibly_times", "possibly_"), "acked_times", "acked_"), MetricsAck)


def repairs(events: DataFrame) -> DataFrame:
    """Event -> MetricsRepair."""
    here = events.where(F.col("channel") != "")
    kind, cause = F.col("event"), F.col("cause")

    def named(event: str) -> Column:
        return F.sum(F.when(kind == event, F.coalesce(F.size("deps"), F.lit(0))).otherwise(0))

    counts = here.groupBy(*MEMBER).agg(
        F.count_distinct(F.when(kind == "repair_wanted", F.col("message_id"))).alias("wanted"),
        named("repair_requested").alias("requested"),
        F.count_if(kind == "repair_responded").alias("answered"),
        F.count_if((kind == DELIVERED) & (cause == "repair")).alias("useful"),
        F.count_if(kind == "pushed").alias("pushed"),
        F.count_if((kind == DELIVERED) & (cause == "sync")).alias("synced"),
        F.count_if(kind == "duplicate").alias("duplicates"),
        F.count_if((kind == DELIVERED) & (cause == "store")).alias("stored"),
        *(named(event).alias(event) for event in ("store_asked", "store_unknown", "store_silent")),
    )
    delivered = first(here, kind == DELIVERED)
    joined = counts
    for name, event in (("heal", "repair_wanted"), ("buffer", "missing")):
        joined = joined.join(after(first(here, kind == event), delivered, name), list(MEMBER), "left")
    joined = joined.na.fill(0, ["heal_n", "buffer_n"])
    whole = joined.withColumns({"healed": F.col("heal_n"), "buffered": F.col("buffer_n")})
    return table(spread(spread(whole, "heal_times", "heal_"), "buffer_times", "buffer_"), MetricsRepair)


def traffic(events: DataFrame) -> DataFrame:
    """Event -> MetricsTraffic."""
    sent = events.where(F.col("event") == "sent").withColumn("cause", F.coalesce("cause", F.lit("")))
    return table(
        sent.groupBy(*MEMBER, "cause").agg(
            F.count("*").alias("packets"),
            *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("bytes", "payload_bytes")),
        ),
        MetricsTraffic,
    )


def rejections(events: DataFrame) -> DataFrame:
    """Event -> MetricsRejected."""
    refused = events.where(F.col("event") == "rejected").withColumn("reason", F.coalesce("cause", F.lit("")))
    packets = F.sum(F.coalesce("attempt", F.lit(1))).cast("long")
    return table(refused.groupBy(*MEMBER, "reason").agg(packets.alias("packets")), MetricsRejected)


def parts(messages: DataFrame, packets: DataFrame) -> DataFrame:
    """Message, Packet -> MetricsParts."""
    sizes = [F.coalesce(name, F.lit(0).cast("long")).alias(name) for name in _SIZES]
    held = latest(messages, HELD).where(~F.col("gone") & F.col("bytes").isNotNull())
    once = held.groupBy(*MESSAGE).agg(F.max(F.struct(*sizes)).alias("sizes"))
    logged = once.select(*CHANNEL, F.lit("log").alias("source"), F.lit("message").alias("kind"), "sizes.*")
    recorded = packets.dropDuplicates(["run_id", "tap", "seq"]).select(
        *CHANNEL, F.lit("tap").alias("source"), "kind", *sizes
    )
    sums = [F.sum(name).alias(name) for name in _SIZES]
    whole = logged.unionByName(recorded).groupBy(*CHANNEL, "source", "kind")
    return table(whole.agg(F.count("*").alias("packets"), *sums), MetricsParts)
