"""Fingerprints, to find the stretches of logs that differ."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sdschat.audit.schemas import Fingerprint
from sdschat.pipeline.transforms.columns import MEMBER, bucket, table

K: Final = 17  # a bucket is 131 s of Lamport time: about a thousand messages in a busy channel


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
