"""One batch of segments, by the faster of two ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.audit.schemas import Fingerprint, Journal, Packet
from sdschat.pipeline.lake import own_folder
from sdschat.pipeline.stream.gone import gone
from sdschat.pipeline.stream.parts import Parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def do_batch(files: DataFrame, batch: int, lake: str, run_id: str) -> None:
    """Process one batch. Spark calls this for every batch, and again for an unfinished one.

    Segments that do not exist any more are read too, so that this failure is recorded.
    """
    paths = sorted({*(local_path(row.path) for row in files.select("path").collect()), *gone(lake, batch)})
    if paths:
        take_in(files.sparkSession, paths, batch, lake, run_id)


def local_path(uri: str) -> str:
    """Return the path of a URI. Spark does not escape names: `#`, `?` and `%` stand for themselves."""
    return f"/{uri.removeprefix('file:').lstrip('/')}" if uri.startswith("file:") else uri


def take_in(spark: SparkSession, paths: list[str], batch: int, lake: str, run_id: str) -> None:
    """Make the parts of one batch from its segments. Both ways give the same result, also if batches mix them."""
    from sdschat.pipeline.stream import by_spark, here
    from sdschat.pipeline.stream.parts_here import PartsHere

    folder = own_folder(spark, lake) if here.is_little(paths) else None
    if folder is None:
        by_spark.take_in(Parts(spark, lake), paths, batch, run_id)
    else:
        here.take_in(PartsHere(spark, lake, folder), paths, batch, run_id)


def at_once(spark: SparkSession, paths: list[str], run_id: str) -> dict[type, DataFrame]:
    """Return the same tables from all segments at once: the result that the stream must have."""
    from sdschat.pipeline.sources.staged import load, of_table
    from sdschat.pipeline.stream.tables import KEYS_OF_ROWS, Activity, Traffic, activity, copies_of, prints, traffic

    rows = load(spark, paths, (Packet, Journal), run_id, 0)
    packets, journal = (of_table(rows, of).dropDuplicates(list(KEYS_OF_ROWS[of])) for of in (Packet, Journal))
    return {
        Traffic: traffic(packets),
        Activity: activity(journal),
        Fingerprint: prints(copies_of(spark, journal)),
    }
