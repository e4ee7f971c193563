"""Spark's answers equal those of plain Python: the verdict that of the oracle, the figures those of a reference.

The groups are drawn from seeds: duplicates, gaps in journals, late joiners, wrong clocks, altered, forged and deleted
rows, several readings of a database. Spark processes all groups together, each under its own run_id, because the start
of a query costs more than the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from sdschat.audit.conform import Silver, conform
from sdschat.audit.rules import REASONS
from sdschat.audit.schemas import (
    FINDINGS,
    AuditChannel,
    AuditFinding,
    AuditJournal,
    AuditMissing,
    AuditNode,
    Copy,
    Log,
    MetricsAck,
    MetricsClock,
    MetricsDelivery,
    MetricsFilter,
    MetricsParts,
    MetricsRejected,
    MetricsRepair,
    MetricsTraffic,
    Presence,
)
from sdschat.audit.verdict import Audit
from sdschat.lake import judge
from sdschat.pipeline.reference.latency import passages
from sdschat.pipeline.reference.metrics import Metrics, metrics
from tests.audit.oracle import consolidate
from tests.audit.together import together
from tests.needs import needs_module
from tests.pipeline.frames import lake_of, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.pipeline.lake import Lake

needs_module("pyspark")
needs_module("pyarrow")

SEEDS = int(os.environ.get("SDSCHAT_PIPELINE_SEEDS", "250"))


class Both(NamedTuple):
    silver: Silver
    log: list[Log]
    audit: Audit
    figures: Metrics
    lake: Lake


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Both:
    from sdschat.pipeline import stages

    taken, wanted = together(SEEDS)
    silver = conform(taken)
    log = consolidate(silver.copies)
    lake = lake_of(spark, tmp_path_factory.mktemp("lake"), taken)
    judge.refine(lake)
    judge.consolidate(lake)
    judge.audit(lake)
    stages.metrics(lake)
    return Both(silver, log, wanted, metrics(silver, []), lake)


def test_the_groups_drawn_have_everything_that_can_be_wrong(both: Both) -> None:
    assert {row.kind for row in both.audit.findings} == set(FINDINGS) - {"apart"}  # takes two databases of one node
    assert {row.reason for row in both.audit.missing} == set(REASONS)
    assert any(row.lost for row in both.audit.journals)
    assert {True, False} == {row.converged for row in both.audit.channels}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (Copy, lambda both: both.silver.copies),
        (Presence, lambda both: both.silver.presences),
        (Log, lambda both: both.log),
        (AuditMissing, lambda both: both.audit.missing),
        (AuditFinding, lambda both: both.audit.findings),
        (AuditNode, lambda both: both.audit.nodes),
        (AuditChannel, lambda both: both.audit.channels),
        (AuditJournal, lambda both: both.audit.journals),
        (MetricsClock, lambda both: both.figures.clock),
        (MetricsDelivery, lambda both: both.figures.delivery),
        (MetricsAck, lambda both: both.figures.ack),
        (MetricsRepair, lambda both: both.figures.repair),
        (MetricsTraffic, lambda both: both.figures.traffic),
        (MetricsRejected, lambda both: both.figures.rejected),
        (MetricsParts, lambda both: both.figures.parts),
        (MetricsFilter, lambda both: both.figures.filter),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_tables_are_equal(both: Both, table: type, expected: Callable[[Both], list[Any]]) -> None:
    found: list[Any] = rows(both.lake.read(table), table)
    wanted = sorted(expected(both), key=repr)
    assert wanted
    assert [rounded(row) for row in found] == [rounded(row) for row in wanted]


def rounded(row: Any) -> tuple[Any, ...]:
    """Return the row with rounded numbers, without sketches.

    The last digit of a sum of fractions depends on their order. Sketches have their own test.
    """
    values = (round(value, 6) if isinstance(value, float) else value for value in row)
    return tuple(None if isinstance(value, bytes | bytearray) else value for value in values)


def test_curves_from_the_sketches_of_several_hours_are_those_of_the_times_themselves(both: Both) -> None:
    from sdschat.pipeline.report.data import curves_of
    from sdschat.pipeline.report.from_lake import curves

    wanted = curves_of(passages(both.silver.journal), both.figures)
    assert any(curve.n > 2 for curve in wanted)
    assert curves(both.lake.read(MetricsDelivery)) == wanted
