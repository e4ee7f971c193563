"""One batch of segments, and the place where batches are kept.

Everything that a batch writes goes into folders of its own and replaces what is there, and what is new in it is told
by the batches before it alone. So a batch that was killed half-way, and is done again, comes to the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.pipeline.lake import as_it_is, no_rows, read_parquet
from sdschat.pipeline.schemas import Copy, Fingerprint, Journal, Message, Node, Packet, Quarantine, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER: Final = "stream"
_KEYS: Final = {Packet: ("run_id", "tap", "seq"), Journal: ("run_id", "node", "boot", "seq")}


class Parts:
    """The tables of the stream in a lake, a folder for each batch."""

    def __init__(self, spark: SparkSession, lake: str) -> None:
        self.spark = spark
        self.root = f"{lake.rstrip('/')}/{FOLDER}"

    def before(self, of: type, batch: int | None = None) -> DataFrame:
        """What all batches before this one have; of all, where none is given."""
        rows = read_parquet(self.spark, self._path(of), f"{ddl(of)}, batch BIGINT")
        if rows is None:
            return no_rows(self.spark, of)
        chosen = rows if batch is None else rows.where(rows["batch"] < batch)
        return chosen.drop("batch")

    def put(self, of: type, batch: int, rows: DataFrame) -> DataFrame:
        path = f"{self._path(of)}/batch={batch}"
        rows.select(*of.__annotations__).coalesce(2).write.mode("overwrite").parquet(path)
        return self.spark.read.schema(ddl(of)).parquet(as_it_is(path))

    def _path(self, of: type) -> str:
        return f"{self.root}/{of.__name__.lower()}"


class Held(NamedTuple):
    """Copies that have been counted."""

    run_id: str
    channel: str
    node: str
    message_id: str


def do_batch(files: DataFrame, batch: int, lake: str, run_id: str) -> None:
    """Called by Spark for every batch, and again for one that was not finished."""
    paths = sorted(local_path(row.path) for row in files.select("path").collect())
    if paths:
        take_in(files.sparkSession, paths, batch, lake, run_id)


def local_path(uri: str) -> str:
    """Spark writes names as they are: `#`, `?` and `%` stand for themselves."""
    return f"/{uri.removeprefix('file:').lstrip('/')}" if uri.startswith("file:") else uri


def take_in(spark: SparkSession, paths: list[str], batch: int, lake: str, run_id: str) -> None:
    """Segments -> the parts of one batch."""
    from sdschat.pipeline.stream.tables import Activity, Traffic, activity, prints, traffic

    parts = Parts(spark, lake)
    rows = read_segments(spark, paths, run_id).persist()
    try:
        # What a batch has nothing of is not written: most have packets or journals, and every table is a job.
        came = {row["table"] for row in rows.select("table").distinct().collect()}
        if Journal.__name__ in came:
            journal = parts.put(Journal, batch, _new(parts, Journal, rows, batch))
            new = copies_of(spark, journal).join(parts.before(Held, batch), list(Held._fields), "left_anti").persist()
            parts.put(Fingerprint, batch, prints(new))  # what somebody waits for comes first
            parts.put(Held, batch, new)
            parts.put(Activity, batch, activity(journal))
            new.unpersist()
        if Packet.__name__ in came:
            parts.put(Traffic, batch, traffic(parts.put(Packet, batch, _new(parts, Packet, rows, batch))))
        if Quarantine.__name__ in came:
            bad = rows.where(rows["table"] == Quarantine.__name__).select(*Quarantine.__annotations__)
            parts.put(Quarantine, batch, bad)
    finally:
        rows.unpersist()


def read_segments(spark: SparkSession, paths: list[str], run_id: str) -> DataFrame:
    from sdschat.pipeline.sources.staged import load

    return load(spark, paths, (Packet, Journal, Quarantine), run_id, 0)


def _new(parts: Parts, of: type, rows: DataFrame, batch: int) -> DataFrame:
    from sdschat.pipeline.sources.staged import of_table
    from sdschat.pipeline.transforms.readings import unknown

    return unknown(of_table(rows, of), parts.before(of, batch), _KEYS[of])


def copies_of(spark: SparkSession, journal: DataFrame) -> DataFrame:
    """Journal -> Copy, of deliveries alone."""
    from sdschat.pipeline.transforms.conform import copies, events

    logged, nodes = no_rows(spark, Message), no_rows(spark, Node)
    return copies(logged, events(journal), nodes).select(*Copy.__annotations__)


def at_once(spark: SparkSession, paths: list[str], run_id: str) -> dict[type, DataFrame]:
    """The same tables of all segments in one go: what the stream has to come to."""
    from sdschat.pipeline.sources.staged import of_table
    from sdschat.pipeline.stream.tables import Activity, Traffic, activity, prints, traffic

    rows = read_segments(spark, paths, run_id)
    packets, journal = (of_table(rows, of).dropDuplicates(list(keys)) for of, keys in _KEYS.items())
    return {
        Traffic: traffic(packets), Activity: activity(journal), Fingerprint: prints(copies_of(spark, journal)),
    }  # fmt: skip
