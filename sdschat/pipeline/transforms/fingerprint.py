"""Fingerprints, to find the stretches of the logs that differ. Only these are compared message by message."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sdschat.audit.schemas import Fingerprint
from sdschat.pipeline.transforms.columns import CHANNEL, MEMBER, bucket, table
from sdschat.pipeline.transforms.consolidate import K


def fingerprints(copies: DataFrame, k: int = K) -> DataFrame:
    """Copy -> Fingerprint. Fingerprints of disjoint sets of copies can be added: n by sum, x1 and x2 by exclusive or.

    x1 covers everything except the content, x2 the content too: a node with only a journal has no content to compare.
    Ids are long, and hashing them is most of the work, so it is done once.
    """
    whole = F.xxhash64("lamport", "message_id", "sender", "deps", F.coalesce("damage", F.lit("")))
    hashed = copies.select(*MEMBER, bucket(F.col("lamport"), k).alias("bucket"), whole.alias("whole"), "digest")
    found = hashed.groupBy(*MEMBER, "bucket").agg(
        F.count("*").alias("n"), F.bit_xor("whole").alias("x1"), F.bit_xor(F.xxhash64("whole", "digest")).alias("x2")
    )
    return table(found.withColumn("k", F.lit(k).cast("long")), Fingerprint)


def divergent(prints: DataFrame, presences: DataFrame) -> DataFrame:
    """Fingerprint, Presence -> run_id, channel, bucket: the buckets in which nodes differ."""
    there = presences.groupBy(*CHANNEL).agg(F.count("*").alias("members"))
    told = prints.join(presences.select(*MEMBER, "origin"), list(MEMBER), "left")
    of_logs = F.when(F.col("origin") == "log", F.col("x2"))
    sums = told.groupBy(*CHANNEL, "bucket").agg(
        F.count("*").alias("have"),
        F.min("n").alias("n1"),
        F.max("n").alias("n2"),
        F.min("x1").alias("a1"),
        F.max("x1").alias("a2"),
        F.min(of_logs).alias("b1"),
        F.max(of_logs).alias("b2"),
    )
    same = (
        (F.col("have") == F.col("members"))
        & (F.col("n1") == F.col("n2"))
        & (F.col("a1") == F.col("a2"))
        & F.coalesce(F.col("b1") == F.col("b2"), F.lit(True))
    )
    return sums.join(there, list(CHANNEL)).where(~same).select(*CHANNEL, "bucket")


def in_buckets(rows: DataFrame, buckets: DataFrame, k: int = K) -> DataFrame:
    """Return the rows whose `lamport` is in one of the buckets. Buckets are few, so they are sent to the rows."""
    placed = rows.withColumn("bucket", bucket(F.col("lamport"), k))
    return placed.join(F.broadcast(buckets), [*CHANNEL, "bucket"], "left_semi").drop("bucket")
