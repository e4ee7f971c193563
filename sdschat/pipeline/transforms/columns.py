"""Groups of column names, and small expressions shared by several stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

CHANNEL: Final = ("run_id", "channel")
MEMBER: Final = (*CHANNEL, "node")
MESSAGE: Final = (*CHANNEL, "message_id")
HELD: Final = (*MEMBER, "message_id")
VERSION: Final = ("lamport", "sender", "deps", "digest")  # the part of a message on which nodes must agree
READING: Final = ("as_of", "read_ms")
DELIVERED: Final = "delivered"


def table(rows: DataFrame, schema: type) -> DataFrame:
    """Return the rows with the columns of a table, in their order."""
    return rows.select(*schema.__annotations__)


def latest(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return for each key the row of the latest reading."""
    whole = F.struct("*")
    return rows.groupBy(*keys).agg(F.max_by(whole, F.struct(*READING)).alias("row")).select("row.*")


def bucket(lamport: Column, k: int) -> Column:
    return F.shiftright(lamport, k)


def at() -> Column:
    """Return the position of an event among those of its node."""
    return F.struct("began", "boot", "seq")


def text(value: str | None) -> Column:
    return F.lit(value).cast("string")
