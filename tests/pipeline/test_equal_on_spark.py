"""Spark's answers equal those of others: the verdict that of the oracle, the figures those of SQLite.

The groups are drawn from seeds: duplicates, gaps in journals, late joiners, wrong clocks, altered, forged and deleted
rows, several readings of a database. Spark processes all groups together, each under its own run_id, because the start
of a query costs more than the rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from sdschat.audit.answers import METRICS, Figures, answers
from sdschat.audit.figures import figures
from sdschat.audit.node_evidence import AuditEvidence, conform
from sdschat.audit.schemas import (
    FAULTS,
    AuditChannel,
    AuditFinding,
    AuditJournal,
    AuditMissing,
    AuditNode,
    Log,
    Presence,
)
from sdschat.audit.statements import statements
from sdschat.audit.verdict import AHEAD, JOINED_LATER, LAGGING, LOST, RETENTION, TAKEN_ALONG, Audit
from sdschat.lake import figures as of_lake
from sdschat.lake import judge
from sdschat.pipeline.lake import MANY
from tests.audit.oracle import consolidate
from tests.audit.together import together
from tests.audit.worlds import read_once
from tests.needs import needs_module
from tests.pipeline.frames import lake_of, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.pipeline.lake import Lake

needs_module("pyspark")
needs_module("pyarrow")

COMPILED = "spark.sql.codegen.wholeStage"
SEEDS = int(os.environ.get("SDSCHAT_PIPELINE_SEEDS", "60"))


class Seen(NamedTuple):
    """The session and the lake at one moment."""

    compiled: bool
    scratch: bool


class Both(NamedTuple):
    silver: AuditEvidence
    log: list[Log]
    audit: Audit
    figures: Figures
    lake: Lake
    of_lake: Figures
    before: Seen
    amid: Seen
    after: Seen


@pytest.fixture(scope="module", params=[True, False], ids=["few rows", "many rows"])
def both(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    with pytest.MonkeyPatch.context() as patch:
        if not request.param:
            patch.setattr("sdschat.pipeline.lake.FEW", 250)  # fewer than messages, more than channels
        yield _answers(spark, tmp_path_factory.mktemp("lake"))


def _answers(spark: SparkSession, folder: Path) -> Both:
    taken, wanted = together(SEEDS)
    silver = conform(read_once(taken))
    log = consolidate(silver.held)
    lake = lake_of(spark, folder, taken)
    before = _seen(spark, lake)
    judge.refine(lake)
    amid = _seen(spark, lake)
    judge.consolidate(lake)
    judge.audit(lake)
    after = _seen(spark, lake)
    grain = of_lake.measure(lake, keep=True)
    found = of_lake.figures(lake, grain, wanted.channels)
    lake.forget()
    return Both(silver, log, wanted, figures(silver, wanted), lake, found, before, amid, after)


def _seen(spark: SparkSession, lake: Lake) -> Seen:
    return Seen(spark.conf.get(COMPILED) == "true", (Path(lake.tables.root) / "scratch").exists())


def test_the_groups_drawn_have_everything_that_can_be_wrong(both: Both) -> None:
    assert {row.kind for row in both.audit.findings} == {*FAULTS, "gap"} - {"apart"}  # takes two databases of one node
    assert {row.reason for row in both.audit.missing} == {
        LOST,
        LAGGING,
        JOINED_LATER,
        RETENTION,
        TAKEN_ALONG,
        AHEAD,
    }
    assert any(row.lost for row in both.audit.journals)
    assert {True, False} == {row.converged for row in both.audit.channels}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (Presence, lambda both: both.silver.presences),
        (Log, lambda both: both.log),
        (AuditMissing, lambda both: both.audit.missing),
        (AuditFinding, lambda both: both.audit.findings),
        (AuditNode, lambda both: both.audit.nodes),
        (AuditChannel, lambda both: both.audit.channels),
        (AuditJournal, lambda both: both.audit.journals),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_the_tables_are_equal(both: Both, table: type, expected: Callable[[Both], list[Any]]) -> None:
    found: list[Any] = rows(both.lake.read(table), table)
    wanted = sorted(expected(both), key=repr)
    assert wanted
    assert [rounded(row) for row in found] == [rounded(row) for row in wanted]


@pytest.mark.parametrize("name", answers())
def test_the_figures_are_equal(both: Both, name: str) -> None:
    found, wanted = getattr(both.of_lake, name), getattr(both.figures, name)
    assert wanted
    assert sorted(map(rounded, found), key=repr) == sorted(map(rounded, wanted), key=repr)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_are_kept_as_tables(both: Both, name: str) -> None:
    table, _ = answers()[name]
    found: list[Any] = rows(both.lake.read(table), table)
    assert sorted(map(rounded, found), key=repr) == sorted(map(rounded, getattr(both.figures, name)), key=repr)


def test_an_audit_leaves_the_session_and_the_lake_as_they_were(both: Both, request: pytest.FixtureRequest) -> None:
    """The settings for few rows stayed in the session: the next audit of many rows was not compiled."""
    many = "many rows" in request.node.name
    assert both.amid == Seen(compiled=many, scratch=many)
    assert both.after == both.before == Seen(compiled=True, scratch=False)


def test_the_tables_that_are_known_to_be_large_are_those_of_statements() -> None:
    named = {name for file in (*judge.SILVER, *judge.VERDICT) for name, _, _ in statements(*file)}
    assert not MANY - named


def rounded(row: Any) -> tuple[Any, ...]:
    """Return the row with rounded numbers: the last digit of a sum of fractions depends on their order."""
    return tuple(round(value, 6) if isinstance(value, float) else value for value in row)
