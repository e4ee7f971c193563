"""The quarantine: its new rows, and the rows that still count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from sdschat.audit.schemas import Quarantine, ddl
from sdschat.lake import results
from sdschat.pipeline.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sdschat.pipeline.intake import Intake
    from sdschat.pipeline.sources.survey import Seen

KEYS: Final = ("run_id", "source", "node", "place", "reason")
_LATER: Final = "a part of it could not be read, and a moment later it could: take it in again"


def standing(lake: Lake) -> DataFrame | None:
    """Return the rows of the quarantine that still count; None if there never were any."""
    return lake.spark.sql(results.standing(lake)) if lake.has(Quarantine) else None


class Standing(NamedTuple):
    """A file with a part that still counts as unreadable."""

    source: str
    node: str | None
    as_of: int | None


def standing_files(lake: Lake, run_id: str) -> list[Standing]:
    rows = standing(lake)
    if rows is None:
        return []
    of_run = rows.where(rows["run_id"] == run_id)
    return [Standing(*row) for row in of_run.select(*Standing._fields).distinct().collect()]


def maybe_mended(files: Iterable[Seen], bad: Iterable[Standing]) -> set[str]:
    """Return the paths of files that may be repaired versions of damaged files."""
    damaged = {(each.source, each.node or "") for each in bad}
    return {file.path for file in files if not damaged.isdisjoint({(file.path, ""), (file.path, file.node)})}


def stands_in_for(file: Seen, bad: Standing) -> bool:
    """True if this sound database has everything that the damaged one could have had."""
    return bool(file.node) and file.node == bad.node and bad.as_of is not None and file.as_of >= bad.as_of


def refuse(intake: Intake, files: Iterable[Seen]) -> None:
    """Add the unreadable parts of files to the quarantine. They are found by a second reading.

    For a file that is still being written the second reading may find nothing. That is recorded too, because the part
    that was unreadable before is not in the lake.
    """
    from pyspark.sql import functions as F

    from sdschat.pipeline.sources.staged import of_table
    from sdschat.pipeline.transforms.readings import unknown

    odd = sorted(intake.odd)
    if not odd:
        return
    spark = intake.lake.spark
    rows = of_table(intake.load(odd, Quarantine), Quarantine).persist()
    try:
        told = {row["source"]: row["count"] for row in rows.groupBy("source").count().collect()}
        unsaid = [Quarantine(intake.run_id, path, "", _LATER, "", intake.read_ms) for path in odd if path not in told]
        every = rows.unionByName(spark.createDataFrame(unsaid, ddl(Quarantine))) if unsaid else rows
        whose = [(file.path, file.node, file.as_of) for file in files if file.path in intake.odd]
        named = spark.createDataFrame(whose, "source STRING, node STRING, as_of BIGINT")
        full = every.drop("node", "as_of").join(F.broadcast(named), "source", "left")
        known = standing(intake.lake)
        new = full.dropDuplicates(list(KEYS)) if known is None else unknown(full, known.na.fill("", ["node"]), KEYS)
        intake.append(Quarantine, new, sum(told.values()) + len(unsaid))
    finally:
        rows.unpersist()
