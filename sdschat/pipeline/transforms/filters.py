"""A comparison of filters with the true logs; the same as `sdschat.pipeline.reference.filters`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from sdschat.audit.schemas import MetricsFilter
from sdschat.pipeline.sources.filters import LATER, tried
from sdschat.pipeline.transforms.columns import CHANNEL, HELD, MEMBER, latest, table

_TRIED: Final = (
    "run_id STRING, channel STRING, node STRING, filters BIGINT, checks BIGINT, hits BIGINT, expected DOUBLE"
)


def filters(events: DataFrame, messages: DataFrame, copies: DataFrame, pairs: DataFrame) -> DataFrame:
    """Event, Message, Copy, MetricsClock -> MetricsFilter."""
    both = trials(copies, messages).join(claims(events, copies, pairs), list(MEMBER), "full")
    return table(both.na.fill(0), MetricsFilter)


def trials(copies: DataFrame, messages: DataFrame) -> DataFrame:
    """Copy, Message -> run_id, channel, node, filters, checks, hits, expected.

    Each filter is tested with ids that its sender received only after it had sent the filter.
    """
    sound = ~F.col("gone") & F.col("damage").isNull() & F.col("raw").isNotNull()
    own = latest(messages.where(F.col("own")), HELD).where(sound).select(*HELD, "raw")
    by_time = Window.partitionBy(*MEMBER).orderBy("received_ms")
    ranked = copies.select(
        *HELD,
        F.row_number().over(Window.partitionBy(*MEMBER).orderBy("received_ms", "message_id")).alias("rank"),
        F.count("*").over(by_time.rangeBetween(Window.unboundedPreceding, Window.currentRow)).alias("until"),
    )
    nexts = own.join(ranked.select(*HELD, "until"), list(HELD)).withColumn(
        "next", F.explode(F.sequence(F.col("until") + 1, F.col("until") + LATER))
    )
    later = ranked.select(*MEMBER, F.col("rank").cast("long").alias("next"), F.col("message_id").alias("later"))
    asked = (
        nexts.join(later, [*MEMBER, "next"])
        .groupBy(*HELD)
        .agg(F.first("raw").alias("raw"), F.collect_list("later").alias("ids"))
    )
    found = asked.select(*MEMBER, "raw", "ids").mapInArrow(_try, _TRIED)
    sums = found.groupBy(*MEMBER).agg(*(F.sum(name).alias(name) for name in ("filters", "checks", "hits", "expected")))
    return sums.where(F.col("filters") > 0)


def _try(batches: Iterable[Any]) -> Iterator[Any]:
    """Test the filters of some rows, on a worker of Spark."""
    import pyarrow

    for batch in batches:
        rows = batch.to_pylist()
        found = [tried([(row["raw"], row["ids"])]) for row in rows]
        columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in MEMBER}
        columns |= {name: [getattr(trial, name) for trial in found] for name in ("filters", "checks", "hits")}
        columns["expected"] = [float(trial.expected) for trial in found]
        yield pyarrow.RecordBatch.from_pydict(columns)


def claims(events: DataFrame, copies: DataFrame, pairs: DataFrame) -> DataFrame:
    """Event, Copy, MetricsClock -> run_id, channel, node, claims, wrong, undecided; node is the filter's sender."""
    told = events.where(F.col("event").isin("possibly_acked", "acked") & (F.col("cause") == "filter"))
    said = told.select(*CHANNEL, F.col("node").alias("sender"), F.col("peer").alias("node"), "message_id", "ts_ms")
    here = copies.select(*MEMBER).distinct()
    had = copies.select(*HELD, F.col("received_ms").alias("ms"))
    offsets = pairs.select(
        *CHANNEL, F.col("node").alias("sender"), F.col("peer").alias("node"), "offset_ms", "uncertainty_ms"
    )
    known = (
        said.join(F.broadcast(here), list(MEMBER), "left_semi")
        .join(had, list(HELD), "left")
        .join(F.broadcast(offsets), [*CHANNEL, "sender", "node"], "left")
    )
    lead = F.col("ms") - F.col("ts_ms")
    late = lead - F.col("offset_ms")
    verdict = (
        F.when(F.col("ms").isNull(), "wrong")
        .when(F.col("offset_ms").isNull() & (lead > 0), "undecided")
        .when(F.col("offset_ms").isNull(), "right")
        .when(late > F.col("uncertainty_ms"), "wrong")
        .when(late > -F.col("uncertainty_ms"), "undecided")
        .otherwise("right")
    )
    return (
        known.withColumn("verdict", verdict)
        .groupBy(*MEMBER)
        .agg(
            F.count("*").alias("claims"),
            F.count_if(F.col("verdict") == "wrong").alias("wrong"),
            F.count_if(F.col("verdict") == "undecided").alias("undecided"),
        )
    )
