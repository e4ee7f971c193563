"""The new rows of an ingest, compared with the known rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sdschat.audit.schemas import Message
from sdschat.pipeline.transforms.columns import HELD, MEMBER, READING, latest

_SAID: Final = (*MEMBER, "as_of", "horizon", "claimed", "claimed_fingerprint", "counted", "counted_fingerprint")


def unknown(rows: DataFrame, known: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the rows whose key is not known yet, each once."""
    return rows.dropDuplicates(list(keys)).join(known.select(*keys), list(keys), "left_anti")


def newer_readings(nodes: DataFrame, known: DataFrame) -> DataFrame:
    """Return the latest reading of each node and channel, unless a later one is known: a source may be an old copy."""
    there = known.groupBy(*MEMBER).agg(F.max("as_of").alias("known_as_of"))
    joined = latest(nodes, MEMBER).join(there, list(MEMBER), "left")
    return joined.where(F.col("known_as_of").isNull() | (F.col("as_of") >= F.col("known_as_of"))).drop("known_as_of")


def new_readings(fresh: DataFrame, known: DataFrame) -> DataFrame:
    """Return the readings that differ from all earlier readings of the same database."""
    return fresh.join(known.select(*_SAID).distinct(), list(_SAID), "left_anti")


def changes(messages: DataFrame, known: DataFrame, fresh: DataFrame) -> DataFrame:
    """Return new and changed messages, and, marked as gone, messages that a reading no longer has.

    Long rows, such as packets, are not moved between tasks for this, except for messages that are gone.
    """
    names = list(Message.__annotations__)
    what = [name for name in names if name not in (*HELD, *READING, "gone")]
    readings = fresh.select(*MEMBER, *READING)
    came = messages.join(F.broadcast(readings), [*MEMBER, *READING], "left_semi").withColumn("hash", F.xxhash64(*what))
    there = latest(known.select(*HELD, *READING, "gone", F.xxhash64(*what).alias("hash")), HELD).where(~F.col("gone"))
    new = came.join(there.select(*HELD, "hash"), [*HELD, "hash"], "left_anti").select(*names)
    lacking = there.join(F.broadcast(readings.select(*MEMBER)), list(MEMBER), "left_semi").join(
        came.select(*HELD), list(HELD), "left_anti"
    )
    were = known.join(F.broadcast(lacking.select(*HELD, *READING)), [*HELD, *READING], "left_semi").where(
        ~F.col("gone")
    )
    gone = were.drop(*READING).join(F.broadcast(readings), list(MEMBER)).withColumn("gone", F.lit(True))
    return new.unionByName(gone.select(*names))
