"""One batch of segments, and the place where batches are kept.

Everything that a batch writes goes into folders of its own and replaces what is there, and what is new in it is told
by the batches before it alone. So a batch that was killed half-way, and is done again, comes to the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.pipeline.lake import as_it_is, no_rows, read_parquet
from sdschat.pipeline.problem import PipelineProblem
from sdschat.pipeline.schemas import Copy, Fingerprint, Journal, Message, Node, Packet, Quarantine, ddl
from sdschat.pipeline.stream.seen import (
    Span,
    Spans,
    by_whose,
    parts_before,
    parts_to_take_over,
    spans_of,
    together,
    unseen,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sdschat.pipeline.transforms.kept import Keep

FOLDER: Final = "stream"
_FEW: Final = 100_000  # rows that go to every task
_KEYS: Final = {Packet: ("run_id", "tap", "seq"), Journal: ("run_id", "node", "boot", "seq")}


class Parts:
    """The tables of the stream in a lake, a folder for each batch."""

    def __init__(self, spark: SparkSession, lake: str) -> None:
        self.spark = spark
        self.root = f"{lake.rstrip('/')}/{FOLDER}"

    def all(self, of: type) -> DataFrame:
        """What all batches have."""
        rows = read_parquet(self.spark, self._path(of), f"{ddl(of)}, batch BIGINT")
        return no_rows(self.spark, of) if rows is None else rows.drop("batch")

    def there(self, of: type, batch: int) -> bool:
        if "://" not in self.root:
            return Path(self._part(of, batch), "_SUCCESS").exists()
        return read_parquet(self.spark, self._part(of, batch), ddl(of)) is not None

    def of_batches(self, of: type, batches: Sequence[int]) -> DataFrame:
        paths = [as_it_is(self._part(of, batch)) for batch in batches]
        return self.spark.read.schema(ddl(of)).parquet(*paths)

    def put(self, of: type, batch: int, rows: DataFrame, files: int = 2) -> None:
        rows.select(*of.__annotations__).coalesce(files).write.mode("overwrite").parquet(self._part(of, batch))

    def _path(self, of: type) -> str:
        return f"{self.root}/{of.__name__.lower()}"

    def _part(self, of: type, batch: int) -> str:
        return f"{self._path(of)}/batch={batch}"


class Held(NamedTuple):
    """Copies that have been counted. A part has those of earlier batches as well: `seen.parts_before`."""

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
    """Segments -> the parts of one batch. What a batch has nothing of is not written: every table is a job."""
    from sdschat.pipeline.sources.staged import of_table
    from sdschat.pipeline.stream.tables import Traffic, traffic
    from sdschat.pipeline.transforms.kept import keeping

    parts = Parts(spark, lake)
    with keeping() as keep:
        rows = keep(read_segments(spark, paths, run_id))
        came = by_whose(spans_of(_keys(rows)))
        known = _spans_before(parts, batch)
        tables = {whose[0] for whose in came}
        if Journal.__name__ in tables:
            _take_journal(parts, batch, keep(_new(rows, Journal, came, known)), keep)
        if Packet.__name__ in tables:
            packets = keep(_new(rows, Packet, came, known))
            parts.put(Packet, batch, packets)
            parts.put(Traffic, batch, traffic(packets))
        if Quarantine.__name__ in tables:
            parts.put(Quarantine, batch, of_table(rows, Quarantine))
        numbered = {whose: spans for whose, spans in came.items() if whose[0] != Quarantine.__name__}
        if numbered:
            parts.put(Span, batch, spark.createDataFrame(together(known, numbered), ddl(Span)), 1)


def _take_journal(parts: Parts, batch: int, journal: DataFrame, keep: Keep) -> None:
    from sdschat.pipeline.stream.tables import Activity, activity, prints

    copies = keep(copies_of(parts.spark, journal))
    new = keep(_uncounted(parts, batch, copies))
    parts.put(Fingerprint, batch, prints(new))  # what somebody waits for comes first
    parts.put(Journal, batch, journal)
    taken = list(parts_to_take_over(batch, lambda part: parts.there(Held, part)))
    held = new.select(*Held._fields)
    parts.put(Held, batch, held.union(parts.of_batches(Held, taken)) if taken else held, 1)
    parts.put(Activity, batch, activity(journal))


def _uncounted(parts: Parts, batch: int, copies: DataFrame) -> DataFrame:
    """Copies that no batch before has. What was streamed before is much, and what came is little: that is looked for
    there, without moving it about."""
    from pyspark.sql import functions as F

    keys = list(Held._fields)
    known = list(parts_before(batch, lambda part: parts.there(Held, part)))
    if not known:
        return copies
    few = copies.count() <= _FEW
    sought = copies.select(*keys)
    again = parts.of_batches(Held, known).join(F.broadcast(sought) if few else sought, keys, "left_semi")
    return copies.join(F.broadcast(again) if few else again, keys, "left_anti")


def _keys(rows: DataFrame) -> DataFrame:
    """Staged rows -> of, run_id, whose, boot, seq."""
    from pyspark.sql import functions as F

    return rows.select(
        F.col("table").alias("of"), "run_id", F.coalesce("node", "tap", F.lit("")).alias("whose"),
        F.coalesce("boot", F.lit("")).alias("boot"), F.coalesce("seq", F.lit(0)).alias("seq"),
    )  # fmt: skip


def _spans_before(parts: Parts, batch: int) -> Spans:
    """Each batch that had anything wrote down all of them."""
    for earlier in range(batch - 1, -1, -1):
        if parts.there(Span, earlier):
            return by_whose(Span(*row) for row in parts.of_batches(Span, [earlier]).collect())
    if any(parts.there(of, 0) for of in _KEYS) and batch:
        raise PipelineProblem(
            f"{parts.root} was begun by an older sdschat. Move it away; then all segments are taken in anew."
        )
    return {}


def _new(rows: DataFrame, of: type, came: Spans, known: Spans) -> DataFrame:
    """Rows that no batch before has, each once."""
    from sdschat.pipeline.sources.staged import of_table

    again = [
        Span(*whose, *span)
        for whose, spans in came.items() if whose[0] == of.__name__
        for span in known.get(whose, ()) if any(first <= span[1] and span[0] <= last for first, last in spans)
    ]  # fmt: skip
    return unseen(of_table(rows, of), _KEYS[of], again)


def read_segments(spark: SparkSession, paths: list[str], run_id: str) -> DataFrame:
    from sdschat.pipeline.sources.staged import load

    return load(spark, paths, (Packet, Journal, Quarantine), run_id, 0)


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
