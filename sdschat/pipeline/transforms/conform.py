"""From bronze to silver; the same as `sdschat.audit.conform`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sdschat.audit.rules import Rules
from sdschat.audit.schemas import Copy, Declared, Event, Node, Presence
from sdschat.pipeline.transforms.columns import (
    CHANNEL,
    DELIVERED,
    HELD,
    MEMBER,
    MESSAGE,
    READING,
    at,
    latest,
    table,
    text,
)

BOOT = ("run_id", "node", "boot")
_OF_LOG = (*(name for name in Copy.__annotations__ if name != "origin"), *READING, "gone")


def events(journal: DataFrame) -> DataFrame:
    """Journal -> Event, each once."""
    once = journal.dropDuplicates([*BOOT, "seq"])
    began = once.groupBy(*BOOT).agg(F.min("ts_ms").alias("began"))
    return table(once.join(began, list(BOOT)), Event)


def latest_nodes(nodes: DataFrame) -> DataFrame:
    """Node -> Node, the latest reading of each node and channel."""
    return table(latest(nodes, MEMBER), Node)


def latest_declared(declared: DataFrame, nodes: DataFrame) -> DataFrame:
    """Declared, Node (latest) -> Declared, of the latest reading."""
    return table(declared.join(nodes.select(*MEMBER, *READING), [*MEMBER, *READING], "left_semi").distinct(), Declared)


def copies(messages: DataFrame, events: DataFrame, nodes: DataFrame) -> DataFrame:
    """Message, Event, Node (latest) -> Copy. A log never read to its end does not count: then the journal is used."""
    whole = messages.select(*_OF_LOG).join(F.broadcast(nodes.select(*MEMBER)), list(MEMBER), "left_semi")
    # Packets and texts are not moved, and the rows of one message come together: so they take little space.
    narrow = whole.repartition(*MESSAGE)
    logged = latest(narrow, HELD).where(~F.col("gone")).withColumn("origin", F.lit("log"))
    told = events.where((F.col("event") == DELIVERED) & F.col("message_id").isNotNull())
    alone = told.join(nodes.select(*MEMBER), list(MEMBER), "left_anti")
    first = alone.groupBy(*HELD).agg(
        F.min_by(F.struct("lamport", "sender", "deps", "cause", "ts_ms"), at()).alias("told")
    )
    heard = first.select(
        *HELD,
        F.coalesce("told.lamport", F.lit(0).cast("long")).alias("lamport"),
        F.coalesce("told.sender", F.lit("")).alias("sender"),
        F.coalesce("told.deps", F.array().cast("array<string>")).alias("deps"),
        F.lit("").alias("digest"),
        F.coalesce(F.col("told.sender") == F.col("node"), F.lit(False)).alias("own"),
        F.col("told.cause").alias("via"),
        F.col("told.ts_ms").alias("received_ms"),
        F.lit("journal").alias("origin"),
        text(None).alias("damage"),
    )
    return table(logged, Copy).unionByName(table(heard, Copy))


def in_order(copies: DataFrame) -> DataFrame:
    """Copy -> Copy, each partition in the order of the log.

    So it takes little space, the rows of one message are together, and a search for a time reads little else.
    """
    return copies.sortWithinPartitions(*CHANNEL, "lamport", "message_id", "node")


def presences(nodes: DataFrame, events: DataFrame, copies: DataFrame, rules: Rules) -> DataFrame:
    """Node (latest), Event, Copy -> Presence."""
    moments = (
        events.where(F.col("channel") != "")
        .select(*MEMBER, F.col("ts_ms").alias("ms"))
        .unionByName(copies.select(*MEMBER, F.col("received_ms").alias("ms")))
    )
    seen = moments.groupBy(*MEMBER).agg(F.min("ms").alias("first_ms"), F.max("ms").alias("last_ms"))
    starts = events.groupBy("run_id", "node").agg(F.min_by(F.struct("ts_ms", "seq"), at()).alias("start"))
    logs = nodes.select(*MEMBER, "nick", F.col("horizon").alias("own_horizon"))
    joined = seen.join(logs, list(MEMBER), "full").join(starts, ["run_id", "node"], "left")
    has_log = F.col("own_horizon").isNotNull()
    cut = F.when(F.col("start.seq") > 1, F.col("start.ts_ms")).otherwise(0)
    first = F.coalesce("first_ms", F.lit(0))
    return joined.select(
        *MEMBER,
        "nick",
        F.when(has_log, "log").otherwise("journal").alias("origin"),
        F.when(has_log, F.col("own_horizon")).otherwise(first - rules.max_skew).alias("horizon"),
        F.when(has_log, F.lit(0)).otherwise(cut).cast("long").alias("retained_from"),
        first.cast("long").alias("first_ms"),
        F.coalesce("last_ms", F.lit(0)).cast("long").alias("last_ms"),
    ).select(*Presence.__annotations__)
