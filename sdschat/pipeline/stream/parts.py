"""The tables of the stream in a lake: each table has one folder for each batch.

A batch writes only to folders of its own and replaces their content, and only the earlier batches decide which of its
rows are new. So a batch that was killed and is repeated gives the same result. A batch counts as soon as its row in
`Counted` exists. That row is written last: until then nobody sees a part of the batch.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sdschat.audit.problem import PipelineProblem
from sdschat.audit.schemas import Fingerprint, Journal, Packet, Quarantine, ddl
from sdschat.pipeline.lake import as_it_is, no_rows, read_parquet
from sdschat.pipeline.stream.seen import Span, Spans, by_whose, parts_before, parts_to_take_over

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER: Final = "stream"
_BATCH: Final = re.compile(r"/batch=(\d+)/[^/]*$")
_begun: Final[dict[str, int]] = {}  # stream: the last batch that this process began


class CountedParts(NamedTuple):
    """Counted copies. A part also holds copies of earlier batches: see `seen.parts_before`."""

    run_id: str
    channel: str
    node: str
    message_id: str


class Counted(NamedTuple):
    """A complete batch, with the numbers of its new rows."""

    segments: int
    events: int
    packets: int
    refused: int
    at_ms: int  # time of completion
    took_ms: int


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Parts:
    """The tables, read and written by Spark, for a lake at any place."""

    def __init__(self, spark: SparkSession, lake: str) -> None:
        self.spark = spark
        self.root = f"{lake.rstrip('/')}/{FOLDER}"

    def all(self, of: type, before: int | None = None) -> DataFrame:
        """Return the rows of all complete batches, or of those before this one, if one is given."""
        from pyspark.sql import functions as F

        rows = read_parquet(self.spark, self._path(of), f"{ddl(of)}, batch BIGINT")
        whole = read_parquet(self.spark, self._path(Counted), f"{ddl(Counted)}, batch BIGINT")
        if rows is None or whole is None:
            return no_rows(self.spark, of)
        numbers = whole.select("batch") if before is None else whole.select("batch").where(F.col("batch") < before)
        return rows.join(F.broadcast(numbers), "batch", "left_semi").drop("batch")

    def there(self, of: type, batch: int) -> bool:
        """True if the part of a complete earlier batch exists.

        Spark is asked, because a path need not be on the local disk. A removed part leaves its folder behind.
        """
        rows = read_parquet(self.spark, self._part(of, batch), ddl(of))
        return rows is not None and bool(rows.inputFiles())

    def of_batches(self, of: type, batches: Sequence[int]) -> DataFrame:
        paths = [as_it_is(self._part(of, batch)) for batch in batches]
        return self.spark.read.schema(ddl(of)).parquet(*paths)

    def held_before(self, batch: int) -> list[int]:
        """Return the parts that together hold all copies counted by earlier batches."""
        return list(parts_before(batch, lambda part: self.there(CountedParts, part)))

    def held_to_take_over(self, batch: int) -> list[int]:
        """Return those of these parts that the part of this batch must include."""
        return list(parts_to_take_over(batch, lambda part: self.there(CountedParts, part)))

    def rows(self, of: type, batch: int) -> list[Any]:
        """Return the rows of a small table."""
        return [of(*row) for row in self.of_batches(of, [batch]).collect()] if self.there(of, batch) else []

    def put(self, of: type, batch: int, rows: DataFrame, files: int = 2) -> None:
        rows.select(*of.__annotations__).coalesce(files).write.mode("overwrite").parquet(self._part(of, batch))

    def keep(self, of: type, batch: int, rows: Sequence[Any]) -> None:
        """Like `put`, for rows in this process."""
        self.put(of, batch, self.spark.createDataFrame(list(rows), ddl(of)), 1)

    def begin(self, batch: int) -> None:
        """Begin a batch: remove all parts of it and of later batches.

        These were not recorded as done, or the record was lost, and everything is ingested again. After the first
        batch of a process no such parts are left.
        """
        if batch <= _begun.get(self.root, batch):
            self._take_away(batch)
        _begun[self.root] = batch

    def _take_away(self, since: int) -> None:
        """Remove the parts of this batch and of later ones, beginning with the rows that make them count."""
        from sdschat.pipeline.stream.tables import Activity, Traffic

        for of in (Counted, Span, CountedParts, Journal, Packet, Quarantine, Traffic, Activity, Fingerprint):
            there = read_parquet(self.spark, self._path(of), "batch BIGINT")
            files = [] if there is None else there.inputFiles()
            numbers = {int(found[1]) for found in map(_BATCH.search, files) if found}
            later = sorted(number for number in numbers if number >= since)
            whole = len(later) == len(numbers)
            for path in [self._path(of)] if later and whole else [self._part(of, number) for number in later]:
                self._empty(path)

    def _empty(self, path: str) -> None:
        """Remove all files of a folder. Without partitions Spark would write a file even for no rows."""
        nothing = self.spark.range(0).selectExpr("id", "id AS value").write.mode("overwrite")
        nothing.option("partitionOverwriteMode", "static").partitionBy("value").parquet(path)

    def count(self, batch: int, began_ms: int, segments: int, events: int, packets: int, refused: int) -> None:
        """Record that the batch is complete: from now on it counts."""
        now = now_ms()
        self.keep(Counted, batch, [Counted(segments, events, packets, refused, now, now - began_ms)])

    def _path(self, of: type) -> str:
        return f"{self.root}/{of.__name__.lower()}"

    def _part(self, of: type, batch: int) -> str:
        return f"{self._path(of)}/batch={batch}"


def spans_before(parts: Parts, batch: int) -> Spans:
    """Return the spans of all earlier batches: each batch records those of all before it too."""
    for earlier in range(batch - 1, -1, -1):
        if parts.there(Counted, earlier):
            return by_whose(parts.rows(Span, earlier))
        if any(parts.there(of, earlier) for of in (Span, Journal, Packet)):
            raise PipelineProblem(
                f"{parts.root} was begun by an older sdschat. Move it away; then all segments are taken in anew."
            )
    return {}
