"""The tables of the stream. Every table is a sum over disjoint parts: a batch adds a part and changes no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sdschat.audit.schemas import Copy, Fingerprint, Journal, Message, Node, Packet
from sdschat.pipeline.lake import no_rows
from sdschat.pipeline.transforms.columns import table
from sdschat.pipeline.transforms.conform import copies, events
from sdschat.pipeline.transforms.fingerprint import fingerprints


class Traffic(NamedTuple):
    """The packets of one kind in a channel in one minute."""

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
    """The events of one kind in a node's journal."""

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
    found = (
        packets.withColumn("minute", minute)
        .groupBy(*KEYS[Traffic])
        .agg(F.count("*").alias("packets"), *(F.sum(name).alias(name) for name in sizes))
    )
    return table(found, Traffic)


def activity(journal: DataFrame) -> DataFrame:
    """Journal -> Activity."""
    found = journal.groupBy(*KEYS[Activity]).agg(
        F.count("*").alias("rows"),
        F.coalesce(F.sum("bytes"), F.lit(0)).alias("bytes"),
        F.min("ts_ms").alias("first_ms"),
        F.max("ts_ms").alias("last_ms"),
    )
    return table(found, Activity)


def copies_of(spark: SparkSession, journal: DataFrame) -> DataFrame:
    """Journal -> Copy, from deliveries alone."""
    # With a limit of 0 Spark knows before it does anything that these tables are empty.
    logged, nodes = no_rows(spark, Message).limit(0), no_rows(spark, Node).limit(0)
    return table(copies(logged, events(journal), nodes), Copy)


def prints(copies: DataFrame) -> DataFrame:
    """Copy -> Fingerprint, from copies that are in no other batch."""
    return fingerprints(copies)


def merged(parts: DataFrame, of: type) -> DataFrame:
    """The parts of all batches -> one row for each key."""
    keys = KEYS[of]
    sums = [name for name in of.__annotations__ if name not in keys]
    found = parts.groupBy(*keys).agg(*(_merge(name).alias(name) for name in sums))
    return table(found, of)


def _merge(name: str) -> Column:
    function = _MERGED.get(name, F.sum)
    return function(name)
