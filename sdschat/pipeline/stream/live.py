"""What the stream has come to, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sdschat.pipeline.schemas import Fingerprint
from sdschat.pipeline.stream.batches import Parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ChannelNow(NamedTuple):
    channel: str
    packets: int
    bytes: int
    nodes: int
    fewest: int  # messages that the node with the fewest has
    most: int
    alike: bool  # as far as fingerprints tell


def channels_now(spark: SparkSession, lake: str) -> list[ChannelNow]:
    from pyspark.sql import functions as F

    from sdschat.pipeline.stream.tables import Traffic, merged

    parts = Parts(spark, lake)
    packets = merged(parts.all(Traffic), Traffic).groupBy("channel").agg(
        F.sum("packets").alias("packets"), F.sum("bytes").alias("bytes")
    )  # fmt: skip
    prints = merged(parts.all(Fingerprint), Fingerprint)
    nodes = prints.groupBy("channel", "node").agg(
        F.sum("n").alias("n"), F.bit_xor("x1").alias("x1"), F.bit_xor("x2").alias("x2")
    )
    logs = nodes.groupBy("channel").agg(
        F.count("*").alias("nodes"), F.min("n").alias("fewest"), F.max("n").alias("most"),
        (F.count_distinct("n", "x1", "x2") == 1).alias("alike"),
    )  # fmt: skip
    whole = packets.join(logs, ["channel"], "full").na.fill(0).na.fill(value=False, subset=["alike"])
    return [ChannelNow(**row.asDict()) for row in whole.select(*ChannelNow._fields).orderBy("channel").collect()]
