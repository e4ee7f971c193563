"""Sources into bronze. A row that is there already is not added again, however often and in whatever copy it comes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.pipeline.lake import Lake
from sdschat.pipeline.schemas import Declared, Journal, Message, Node, Packet, Quarantine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEYS: Final[dict[type, tuple[str, ...]]] = {
    Journal: ("run_id", "node", "boot", "seq"),
    Packet: ("run_id", "tap", "seq"),
    Quarantine: ("run_id", "source", "place", "reason"),
}
_MEMBER: Final = ("run_id", "channel", "node")
_MESSAGE: Final = (*_MEMBER, "message_id")
_OF_READING: Final = ("as_of", "read_ms")  # what may differ though nothing changed


class Added(NamedTuple):
    """One table: how many rows came, and how many of them were new."""

    table: str
    read: int
    added: int


def ingest(lake: Lake, paths: Sequence[Path], run_id: str, read_ms: int) -> list[Added]:
    """Take the files in. Whoever is killed on the way and starts again has lost nothing and doubled nothing: what was
    written is found there, row by row."""
    from pyspark import StorageLevel

    from sdschat.pipeline.sources.staged import NAME, Sources

    lake.spark.dataSource.register(Sources)
    options = {"paths": json.dumps([str(path) for path in paths]), "run_id": run_id, "read_ms": str(read_ms)}
    staged = lake.spark.read.format(NAME).options(**options).load().persist(StorageLevel.DISK_ONLY)
    try:
        counts = {row["table"]: row["count"] for row in staged.groupBy("table").count().collect()}
        found: list[Added] = []
        nodes, declared, messages = (of_table(staged, table) for table in (Node, Declared, Message))
        known = {table: lake.read(table) for table in (Node, Message)}
        fresh = newer_readings(nodes, known[Node]).persist(StorageLevel.DISK_ONLY)
        changed = changes(messages, known[Message], fresh)
        told = declared.join(new_readings(fresh, known[Node]), [*_MEMBER, *_OF_READING], "left_semi")
        for table, keys in KEYS.items():
            if counts.get(table.__name__):
                rows = unknown(of_table(staged, table), lake.read(table), keys)
                found.append(_add(lake, table, rows, counts))
        # The readings come last: whoever is killed before them reads the database as if for the first time.
        if counts.get(Node.__name__):
            found.append(_add(lake, Message, changed, counts))
            found.append(_add(lake, Declared, told, counts))
            found.append(_add(lake, Node, new_readings(fresh, known[Node]), counts))
        return found
    finally:
        staged.unpersist()


def quarantined(lake: Lake, paths: Sequence[Path]) -> list[Quarantine]:
    """What of these files could not be taken, now or earlier."""
    from pyspark.sql import functions as F

    rows = lake.read(Quarantine).where(F.col("source").isin([str(path) for path in paths]))
    return [Quarantine(**row.asDict()) for row in rows.orderBy("source", "place").collect()]


def _add(lake: Lake, table: type, rows: DataFrame, counts: dict[str, int]) -> Added:
    """Rows are counted as they are written: to count them before would be to make them twice."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    seen = Observation()
    lake.append(table, rows.observe(seen, F.count(F.lit(1)).alias("added")))
    return Added(table.__name__.lower(), counts.get(table.__name__, 0), seen.get["added"])


def of_table(staged: DataFrame, table: type) -> DataFrame:
    """Staged rows -> those of one table, in its columns."""
    return staged.where(staged["table"] == table.__name__).select(*table.__annotations__)


def unknown(rows: DataFrame, known: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows of which the key is not there yet, each once."""
    return rows.dropDuplicates(list(keys)).join(known.select(*keys), list(keys), "left_anti")


def newer_readings(nodes: DataFrame, known: DataFrame) -> DataFrame:
    """Of each node and channel the latest reading, unless a later one is known: somebody may bring an old copy."""
    from pyspark.sql import functions as F

    from sdschat.pipeline.transforms.columns import latest

    there = known.groupBy(*_MEMBER).agg(F.max("as_of").alias("known_as_of"))
    joined = latest(nodes, _MEMBER).join(there, list(_MEMBER), "left")
    return joined.where(F.col("known_as_of").isNull() | (F.col("as_of") >= F.col("known_as_of"))).drop("known_as_of")


def new_readings(fresh: DataFrame, known: DataFrame) -> DataFrame:
    """Readings that say something new: what the same database said before is not told again."""
    said = [*_MEMBER, "as_of", "horizon", "claimed", "claimed_fingerprint", "counted", "counted_fingerprint"]
    return fresh.join(known.select(*said).distinct(), said, "left_anti")


def changes(messages: DataFrame, known: DataFrame, fresh: DataFrame) -> DataFrame:
    """Messages that are new, or not as they were; and, marked as gone, those that a reading does not have any more."""
    from pyspark.sql import functions as F

    from sdschat.pipeline.transforms.columns import latest

    names = list(Message.__annotations__)
    what = [name for name in names if name not in (*_MESSAGE, *_OF_READING, "gone")]
    readings = fresh.select(*_MEMBER, *_OF_READING)
    came = messages.join(readings, [*_MEMBER, *_OF_READING], "left_semi").withColumn("hash", F.xxhash64(*what))
    there = latest(known, _MESSAGE).withColumn("hash", F.xxhash64(*what)).where(~F.col("gone"))
    new = came.join(there.select(*_MESSAGE, "hash"), [*_MESSAGE, "hash"], "left_anti").select(*names)
    kept = there.drop(*_OF_READING).join(readings, list(_MEMBER))
    gone = kept.join(came.select(*_MESSAGE), list(_MESSAGE), "left_anti").withColumn("gone", F.lit(True))
    return new.unionByName(gone.select(*names))
