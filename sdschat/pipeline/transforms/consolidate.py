"""From silver to the canonical log; the same as `sdschat.pipeline.reference.consolidate`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from sdschat.audit.schemas import Log
from sdschat.pipeline.transforms.columns import CHANNEL, MESSAGE, VERSION, bucket, table
from sdschat.pipeline.transforms.kept import Keep

K: Final = 17  # a bucket is 131 s of Lamport time: about a thousand messages in a busy channel


def _as_it_is(rows: DataFrame) -> DataFrame:
    return rows


def consolidate(copies: DataFrame, k: int = K, keep: Keep = _as_it_is) -> DataFrame:
    """Copy -> Log. Without `keep` every copy is read twice."""
    return numbered(keep(agreed(copies)), k)


def agreed(copies: DataFrame) -> DataFrame:
    """Copy -> Log without position and running hash: the version of each message that counts."""
    judged = copies.withColumn("damaged", F.col("damage").isNotNull()).withColumn("unknown", F.col("digest") == "")
    versions = judged.groupBy(*MESSAGE, "damaged", "unknown", *VERSION).agg(
        F.count("*").alias("n"), F.min("received_ms").alias("first"), F.max("received_ms").alias("last")
    )
    preference = F.struct("damaged", "unknown", -F.col("n"), *VERSION)
    return (
        versions.groupBy(*MESSAGE)
        .agg(
            F.min_by(F.struct(*VERSION), preference).alias("version"),
            F.sum("n").alias("copies"),
            F.min("first").alias("first_ms"),
            F.max("last").alias("last_ms"),
        )
        .select(*MESSAGE, "version.*", "copies", "first_ms", "last_ms")
    )


def numbered(rows: DataFrame, k: int) -> DataFrame:
    """Log without position and running hash -> Log.

    The buckets of a channel are counted and hashed in parallel, and then put in sequence: so a long channel is not one
    task.
    """
    digest = F.sha2(F.concat_ws(":", F.col("lamport").cast("string"), "message_id"), 256)
    placed = (
        rows.withColumn("bucket", bucket(F.col("lamport"), k))
        .withColumn("hash", digest)
        .withColumn("high", _lane("hash", 1))
        .withColumn("low", _lane("hash", 17))
    )
    sums = placed.groupBy(*CHANNEL, "bucket").agg(
        F.count("*").alias("n"), F.bit_xor("high").alias("high"), F.bit_xor("low").alias("low")
    )
    earlier = Window.partitionBy(*CHANNEL).orderBy("bucket").rowsBetween(Window.unboundedPreceding, -1)
    before = sums.select(
        *CHANNEL,
        "bucket",
        F.coalesce(F.sum("n").over(earlier), F.lit(0)).alias("n_before"),
        F.coalesce(F.bit_xor("high").over(earlier), F.lit(0)).alias("high_before"),
        F.coalesce(F.bit_xor("low").over(earlier), F.lit(0)).alias("low_before"),
    )
    inside = Window.partitionBy(*CHANNEL, "bucket").orderBy("lamport", "message_id")
    so_far = inside.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    high = F.bit_xor("high").over(so_far).bitwiseXOR(F.col("high_before"))
    low = F.bit_xor("low").over(so_far).bitwiseXOR(F.col("low_before"))
    found = placed.join(before, [*CHANNEL, "bucket"]).select(
        "*",
        (F.row_number().over(inside) + F.col("n_before")).cast("long").alias("position"),
        F.concat(_hex(high), _hex(low)).alias("running"),
    )
    return table(found, Log)


def _lane(name: str, start: int) -> Column:
    """Return sixteen hex digits as a signed number: `conv` gives a signed one for a negative base."""
    return F.conv(F.substring(name, start, 16), 16, -10).cast("long")


def _hex(value: Column) -> Column:
    return F.lpad(F.lower(F.hex(value)), 16, "0")
