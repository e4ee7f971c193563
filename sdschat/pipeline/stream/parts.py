"""The tables of the stream in a lake: a folder for each batch in each.

Everything that a batch writes goes into folders of its own and replaces what is there, and what is new in it is told
by the batches before it alone. So a batch that was killed half-way, and is done again, comes to the same. It counts
from the moment at which its row in `Counted` is there, which is written last: until then nobody sees half of it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sdschat.pipeline.lake import as_it_is, no_rows, read_parquet
from sdschat.pipeline.problem import PipelineProblem
from sdschat.pipeline.schemas import Fingerprint, Journal, Packet, Quarantine, ddl
from sdschat.pipeline.stream.seen import Span, Spans, by_whose, parts_before, parts_to_take_over

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOLDER: Final = "stream"
_BATCH: Final = re.compile(r"/batch=(\d+)/[^/]*$")
_begun: Final[dict[str, int]] = {}  # the last batch that this process began, of each stream


class Held(NamedTuple):
    """Copies that have been counted. A part has those of earlier batches as well: `seen.parts_before`."""

    run_id: str
    channel: str
    node: str
    message_id: str


class Counted(NamedTuple):
    """A batch that was taken in to its end, and what of it was new."""

    segments: int
    events: int
    packets: int
    refused: int
    at_ms: int  # when that was
    took_ms: int


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Parts:
    """Through Spark, wherever the lake is."""

    def __init__(self, spark: SparkSession, lake: str) -> None:
        self.spark = spark
        self.root = f"{lake.rstrip('/')}/{FOLDER}"

    def all(self, of: type, before: int | None = None) -> DataFrame:
        """What all batches have that were taken in to their end; those before this one, where one is named."""
        from pyspark.sql import functions as F

        rows = read_parquet(self.spark, self._path(of), f"{ddl(of)}, batch BIGINT")
        whole = read_parquet(self.spark, self._path(Counted), f"{ddl(Counted)}, batch BIGINT")
        if rows is None or whole is None:
            return no_rows(self.spark, of)
        numbers = whole.select("batch") if before is None else whole.select("batch").where(F.col("batch") < before)
        return rows.join(F.broadcast(numbers), "batch", "left_semi").drop("batch")

    def there(self, of: type, batch: int) -> bool:
        """Only for batches before the one that is being done, which are whole. Spark is asked: a path need not be on
        the disk here. Of a part that was taken away its folder is left."""
        rows = read_parquet(self.spark, self._part(of, batch), ddl(of))
        return rows is not None and bool(rows.inputFiles())

    def of_batches(self, of: type, batches: Sequence[int]) -> DataFrame:
        paths = [as_it_is(self._part(of, batch)) for batch in batches]
        return self.spark.read.schema(ddl(of)).parquet(*paths)

    def held_before(self, batch: int) -> list[int]:
        """The parts that together have all copies that earlier batches counted."""
        return list(parts_before(batch, lambda part: self.there(Held, part)))

    def held_to_take_over(self, batch: int) -> list[int]:
        """Those of them that the part of this batch is to have in it as well."""
        return list(parts_to_take_over(batch, lambda part: self.there(Held, part)))

    def rows(self, of: type, batch: int) -> list[Any]:
        """Of a table that has few."""
        return [of(*row) for row in self.of_batches(of, [batch]).collect()] if self.there(of, batch) else []

    def put(self, of: type, batch: int, rows: DataFrame, files: int = 2) -> None:
        rows.select(*of.__annotations__).coalesce(files).write.mode("overwrite").parquet(self._part(of, batch))

    def keep(self, of: type, batch: int, rows: Sequence[Any]) -> None:
        """As `put`, of rows that are here."""
        self.put(of, batch, self.spark.createDataFrame(list(rows), ddl(of)), 1)

    def begin(self, batch: int) -> None:
        """Whatever was done of it before, or of later ones, is taken away: it was not written down as done, or that
        was lost, and all is taken in anew. After the first batch of a process there is no more of that."""
        if batch <= _begun.get(self.root, batch):
            self._take_away(batch)
        _begun[self.root] = batch

    def _take_away(self, since: int) -> None:
        """Parts of this batch and of later ones: first that they count."""
        from sdschat.pipeline.stream.tables import Activity, Traffic

        for of in (Counted, Span, Held, Journal, Packet, Quarantine, Traffic, Activity, Fingerprint):
            there = read_parquet(self.spark, self._path(of), "batch BIGINT")
            files = [] if there is None else there.inputFiles()
            numbers = {int(found[1]) for found in map(_BATCH.search, files) if found}
            later = sorted(number for number in numbers if number >= since)
            whole = len(later) == len(numbers)
            for path in [self._path(of)] if later and whole else [self._part(of, number) for number in later]:
                self._empty(path)

    def _empty(self, path: str) -> None:
        """Spark writes a file of no rows for no rows, unless they are to be in folders by their values."""
        nothing = self.spark.range(0).selectExpr("id", "id AS value").write.mode("overwrite")
        nothing.option("partitionOverwriteMode", "static").partitionBy("value").parquet(path)

    def count(self, batch: int, began_ms: int, segments: int, events: int, packets: int, refused: int) -> None:
        """From now on it counts."""
        now = now_ms()
        self.keep(Counted, batch, [Counted(segments, events, packets, refused, now, now - began_ms)])

    def _path(self, of: type) -> str:
        return f"{self.root}/{of.__name__.lower()}"

    def _part(self, of: type, batch: int) -> str:
        return f"{self._path(of)}/batch={batch}"


def spans_before(parts: Parts, batch: int) -> Spans:
    """Each batch wrote down those of all before it too."""
    for earlier in range(batch - 1, -1, -1):
        if parts.there(Counted, earlier):
            return by_whose(parts.rows(Span, earlier))
        if any(parts.there(of, earlier) for of in (Span, Journal, Packet)):
            raise PipelineProblem(
                f"{parts.root} was begun by an older sdschat. Move it away; then all segments are taken in anew."
            )
    return {}
