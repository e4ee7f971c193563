"""The report of a lake. Only sums and the first rows of lists are collected, however large the lake is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from pyspark.sql import functions as F

import sdschat
from sdschat.audit import schemas as tables
from sdschat.audit.rules import LOST
from sdschat.lake.results import MOST, audit_of
from sdschat.pipeline.lake import Lake
from sdschat.pipeline.reference.metrics import Metrics
from sdschat.pipeline.refused import standing
from sdschat.pipeline.report.data import COLUMNS, SHARES, Cell, Curve, ReportData, sources_of
from sdschat.pipeline.report.units import moment
from sdschat.pipeline.results import bring
from sdschat.pipeline.transforms.conform import latest_nodes
from sdschat.pipeline.transforms.latency import RANK_ERROR, SKETCHED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

R = TypeVar("R")
_CHANNEL: Final = ("run_id", "channel")
_NODES: Final = 1_000


def report_data(lake: Lake, made_ms: int) -> ReportData:
    audit = audit_of(lake)
    nodes = bring(latest_nodes(lake.read(tables.Node)), tables.Node, (*_CHANNEL, "node"), _NODES)
    return ReportData(
        audit,
        metrics_of(lake),
        cells(lake.read(tables.AuditMissing), lake.read(tables.AuditChannel)),
        curves(lake.read(tables.MetricsDelivery)),
        curves(lake.read(tables.MetricsDelivery).withColumn("via", F.lit(""))),
        provenance(lake, nodes, made_ms),
        sources_of(nodes),
    )


def metrics_of(lake: Lake) -> Metrics:
    def first(table: type[R], *order: str) -> list[R]:
        return bring(lake.read(table), table, (*_CHANNEL, *order), MOST)

    return Metrics(
        first(tables.MetricsClock, "node", "peer"),
        first(tables.MetricsDelivery, "via", "hour_ms"),
        first(tables.MetricsAck, "node"),
        first(tables.MetricsRepair, "node"),
        first(tables.MetricsTraffic, "node", "cause"),
        first(tables.MetricsRejected, "node", "reason"),
        first(tables.MetricsParts, "source", "kind"),
        first(tables.MetricsFilter, "node"),
    )


def cells(missing: DataFrame, channels: DataFrame) -> list[Cell]:
    """AuditMissing, AuditChannel -> the incomplete cells of the convergence map."""
    sizes = channels.select(*_CHANNEL, "messages")
    wide = F.least(F.lit(COLUMNS), F.col("messages"))
    column = F.floor((F.col("position") - 1) * wide / F.col("messages")).alias("column")
    placed = missing.join(F.broadcast(sizes), list(_CHANNEL)).select(*_CHANNEL, "node", column, "reason")
    sums = placed.groupBy(*_CHANNEL, "node", "column").agg(
        F.count_if(F.col("reason") == LOST).alias("lost"), F.count_if(F.col("reason") != LOST).alias("excused")
    )
    rows = sums.orderBy(F.col("lost").desc(), *_CHANNEL, "node", "column").limit(MOST).collect()
    return [Cell((r["run_id"], r["channel"]), r["node"], r["column"], r["lost"], r["excused"]) for r in rows]


def curves(deliveries: DataFrame) -> list[Curve]:
    """MetricsDelivery -> one curve for each kind of delivery: the merged sketches of all hours."""
    merged = deliveries.groupBy(*_CHANNEL, "via").agg(F.kll_merge_agg_double("sketch").alias("sketch"))
    counted = merged.withColumn("n", F.kll_sketch_get_n_double("sketch")).where(F.col("n") > 0)
    shares = F.array(*map(F.lit, SHARES))
    rows = counted.select(*_CHANNEL, "via", "n", F.kll_sketch_get_quantile_double("sketch", shares).alias("times"))
    return [
        Curve(
            (row["run_id"], row["channel"]),
            row["via"],
            row["n"],
            tuple(row["times"]),
            RANK_ERROR if row["n"] > SKETCHED else 0.0,
        )
        for row in rows.orderBy(*_CHANNEL, "via").limit(MOST).collect()
    ]


def provenance(lake: Lake, nodes: list[tables.Node], made_ms: int) -> dict[str, str]:
    refused = standing(lake)
    counted = {
        "events": lake.read(tables.Journal).count(),
        "copies of messages": lake.read(tables.Message).count(),
        "packets": lake.read(tables.Packet).count(),
        "not taken": 0 if refused is None else refused.count(),
    }
    bad = [] if refused is None else bring(refused, tables.Quarantine, ("source", "place"), 20)
    return {
        "Made": f"{moment(made_ms)} UTC by sdschat {sdschat.__version__} on Spark {lake.spark.version}",
        "Lake": f"{lake.root}, tables of version {tables.VERSION}",
        "Rows": ", ".join(f"{name}: {count:,}" for name, count in counted.items()),
        "Databases": ", ".join(sorted({node.source for node in nodes})) or "none",
        "Not taken": ", ".join(f"{row.source} {row.place} ({row.reason})" for row in bad) or "nothing",
    }
