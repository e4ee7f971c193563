"""From bronze to silver, for a batch of the stream; the same as `sdschat.audit.conform`."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sdschat.audit.schemas import Copy, Event, Node
from sdschat.pipeline.transforms.columns import (
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
