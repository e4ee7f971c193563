"""What the stream keeps. Every table is a sum over disjoint parts, so that a batch adds a part and changes none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sdschat.pipeline.lake import no_rows
from sdschat.pipeline.schemas import Copy, Fingerprint, Journal, Message, Node, Packet
from sdschat.pipeline.transforms.columns import table
from sdschat.pipeline.transforms.conform import copies, events
from sdschat.pipeline.transforms.fingerprint import fingerprints


class Traffic(NamedTuple):
    """Packets of a channel in one minute, by kind."""

    run_id: str
    channel: str
    minute: int
    kind: str
    packets: int
    bytes: int
    content_bytes: int
    filter_bytes: int
    history_bytes: int
    request_bytes: int


class Activity(NamedTuple):
    """Events of one kind in the journal of a node."""

    run_id: str
    channel: str
    node: str
    event: str
    rows: int
    bytes: int
    first_ms: int
    last_ms: int


KEYS: Final[Mapping[type, tuple[str, ...]]] = {
    Traffic: ("run_id", "channel", "minute", "kind"),
    Activity: ("run_id", "channel", "node", "event"),
    Fingerprint: ("run_id", "channel", "node", "bucket", "k"),
}
KEYS_OF_ROWS: Final[Mapping[type, tuple[str, ...]]] = {
    Packet: ("run_id", "tap", "seq"),
    Journal: ("run_id", "node", "boot", "seq"),
}
_MERGED: Final = {"first_ms": F.min, "last_ms": F.max, "x1": F.bit_xor, "x2": F.bit_xor}
_MINUTE: Final = 60_000


def traffic(packets: DataFrame) -> DataFrame:
    """Packet -> Traffic."""
    sizes = ("bytes", "content_bytes", "filter_bytes", "history_bytes", "request_bytes")
    minute = F.col("ts_ms") - F.pmod("ts_ms", F.lit(_MINUTE))
    found = packets.withColumn("minute", minute).groupBy(*KEYS[Traffic]).agg(
        F.count("*").alias("packets"), *(F.sum(name).alias(name) for name in sizes)
    )  # fmt: skip
    return table(found, Traffic)


def activity(journal: DataFrame) -> DataFrame:
    """Journal -> Activity."""
    found = journal.groupBy(*KEYS[Activity]).agg(
        F.count("*").alias("rows"), F.coalesce(F.sum("bytes"), F.lit(0)).alias("bytes"),
        F.min("ts_ms").alias("first_ms"), F.max("ts_ms").alias("last_ms"),
    )  # fmt: skip
    return table(found, Activity)


def copies_of(spark: SparkSession, journal: DataFrame) -> DataFrame:
    """Journal -> Copy, of deliveries alone."""
    # Of what is nothing by a limit, Spark knows so before it does anything.
    logged, nodes = no_rows(spark, Message).limit(0), no_rows(spark, Node).limit(0)
    return table(copies(logged, events(journal), nodes), Copy)


def prints(copies: DataFrame) -> DataFrame:
    """Copy -> Fingerprint, of copies that no other batch has."""
    return fingerprints(copies)


def merged(parts: DataFrame, of: type) -> DataFrame:
    """The parts of all batches -> one row a key."""
    keys = KEYS[of]
    sums = [name for name in of.__annotations__ if name not in keys]
    found = parts.groupBy(*keys).agg(*(_merge(name).alias(name) for name in sums))
    return table(found, of)


def _merge(name: str) -> Column:
    function = _MERGED.get(name, F.sum)
    return function(name)
