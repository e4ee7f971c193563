"""The training run for the class archive does the same work as the commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.needs import needs_module

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

needs_module("pyspark")
needs_module("pyarrow")


def test_a_training_run_goes_all_the_way_to_a_verdict(spark: SparkSession, tmp_path: Path) -> None:
    from sdschat.audit.answers import MetricsDelivery
    from sdschat.lake.judge import audit_of
    from sdschat.lake.tables import PLACES
    from sdschat.pipeline.lake import Lake
    from sdschat.pipeline.session.training_run import work

    work(spark, tmp_path)
    lake = Lake(spark, str(tmp_path / "lake"))
    found = audit_of(lake)
    assert [(row.missing > 0, row.converged) for row in found.channels] == [(True, False)]
    assert lake.read(MetricsDelivery).count() == 1
    assert {place.split("/")[0] for place in PLACES.values()} <= {path.name for path in (tmp_path / "lake").iterdir()}


def test_of_a_training_run_that_failed_no_archive_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sdschat.audit.errors import PipelineProblem
    from sdschat.pipeline.session import SparkTarget
    from sdschat.pipeline.session.java import warm_up

    failing = tmp_path / "python"
    failing.write_text('#!/bin/sh\ntouch "$SDSCHAT_TRAINING_ARCHIVE"\necho no room left >&2\nexit 1\n')
    failing.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(failing))
    with pytest.raises(PipelineProblem, match="not made: no room left"):
        warm_up(SparkTarget("local[1]", cache=tmp_path / "cache"))
    assert not list((tmp_path / "cache").rglob("*classes*"))
