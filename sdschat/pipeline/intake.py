"""One ingest: its lake, what it wrote and counted, and the files with something unreadable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.audit.schemas import Journal, Packet, Quarantine
from sdschat.pipeline.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sdschat.pipeline.sources.straight import Note, Wanted

KEYS: Final[dict[type, tuple[str, ...]]] = {
    Journal: ("run_id", "node", "boot", "seq"),
    Packet: ("run_id", "tap", "seq"),
}
_WITHIN: Final[dict[type, tuple[str, ...]]] = {Journal: ("node", "boot"), Packet: ("tap",)}


class Added(NamedTuple):
    """Counts of one table: rows read, and new rows added. For the table `file`: files instead of rows."""

    table: str
    read: int
    added: int


class Intake:
    """One ingest: its lake, its counts, and the files that contain something unreadable."""

    def __init__(self, lake: Lake, run_id: str, read_ms: int) -> None:
        self.lake = lake
        self.run_id = run_id
        self.read_ms = read_ms
        self.odd: set[str] = set()
        self._counts: dict[type, Added] = {}

    def added(self) -> list[Added]:
        return list(self._counts.values())

    def load(self, paths: Iterable[str], *tables: type) -> DataFrame:
        from sdschat.pipeline.sources.staged import load

        return load(self.lake.spark, paths, tables, self.run_id, self.read_ms)

    def count(self, table: type, read: int, added: int) -> None:
        old = self._counts.get(table, Added(table.__name__.lower(), 0, 0))
        self._counts[table] = old._replace(read=old.read + read, added=old.added + added)

    def write(self, table: type, paths: Sequence[str], other: type | None = None) -> list[Note]:
        """Write all rows of a table from these files as they are read, without a look at the lake."""
        from sdschat.pipeline.sources.straight import Wanted

        wanted = Wanted(paths, table, other, self.run_id, self.read_ms)
        folder = self.lake.folder_for_tasks(table)
        found = self._by_spark(wanted) if folder is None else self._by_tasks(wanted, folder)
        count = sum(note.rows for note in found)
        self.count(table, count, count)
        self.odd |= {note.source for note in found if note.odd}
        return found

    def _by_tasks(self, wanted: Wanted, folder: Path) -> list[Note]:
        """Let each task write the rows that it reads. This takes half the time of passing every row to Spark."""
        from sdschat.pipeline.sources.straight import write_rows

        return write_rows(self.lake.spark, wanted, folder)

    def _by_spark(self, wanted: Wanted) -> list[Note]:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        from sdschat.pipeline.sources.straight import notes, rows_of

        seen = Observation()
        noted = rows_of(self.lake.spark, wanted).observe(seen, F.collect_list("note").alias("notes"))
        self.lake.append(wanted.table, noted.where("note IS NULL"))
        return notes(seen.get["notes"])

    def append(self, table: type, rows: DataFrame, read: int) -> None:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        seen = Observation()
        self.lake.append(table, rows.observe(seen, F.count(F.lit(1)).alias("added")))
        self.count(table, read, seen.get["added"])

    def merge(self, paths: Sequence[str], tables: Sequence[type]) -> set[str]:
        """Add the rows that the lake does not have. Return the files that contain something unreadable."""
        from pyspark import StorageLevel

        from sdschat.pipeline.sources.staged import of_table

        if not paths:
            return set()
        staged = self.load(paths, *{*tables, Quarantine}).persist(StorageLevel.DISK_ONLY)
        try:
            counts = {row["table"]: row["count"] for row in staged.groupBy("table").count().collect()}
            for table in tables:
                if counts.get(table.__name__):
                    self.append(table, self._new(table, of_table(staged, table)), counts[table.__name__])
            if not counts.get(Quarantine.__name__):
                return set()
            return {row[0] for row in of_table(staged, Quarantine).select("source").distinct().collect()}
        finally:
            staged.unpersist()

    def _new(self, table: type, rows: DataFrame) -> DataFrame:
        """Return the new rows. They are compared only with the keys of the same nodes and boots (or taps)."""
        from pyspark.sql import functions as F

        from sdschat.pipeline.transforms.readings import unknown

        keys, within = KEYS[table], ["run_id", *_WITHIN[table]]
        known = self.lake.there(table)
        if known is None:
            return rows.dropDuplicates(list(keys))
        near = known.select(*keys).join(F.broadcast(rows.select(*within).distinct()), within, "left_semi")
        return unknown(rows, near, keys)
