"""A running session of Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.pipeline.session import SparkTarget


PATIENCE: Final = 300.0


def _with_the_package(batches: Iterator[Any]) -> Iterator[Any]:
    import sdschat.sim.node  # imported on the worker

    assert sdschat.sim.node.mix(1)
    yield from batches


def test_workers_can_import_the_package(spark: SparkSession) -> None:
    rows = spark.range(4).mapInArrow(_with_the_package, "id long").collect()
    assert sorted(row.id for row in rows) == [0, 1, 2, 3]


def test_runs_on_spark_are_those_of_processes(spark: SparkSession) -> None:
    from sdschat.experiment.grid.gridfile import Run
    from sdschat.experiment.grid.simulate import on_processes
    from sdschat.experiment.setting import GroupSetting
    from sdschat.pipeline.runs_on_spark import on_spark

    runs = [Run(GroupSetting(participants=6, messages=2, tail=20_000), seed) for seed in range(3)]
    there = {row.run_id: row.figures for row in on_spark(spark, None)(runs)}
    assert there == {row.run_id: row.figures for row in on_processes(1, None)(runs)}


def test_whoever_interrupts_runs_on_spark_waits_for_none_of_them(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wave would take far too long for a test."""
    from sdschat.experiment.grid.gridfile import Run
    from sdschat.experiment.setting import GroupSetting
    from sdschat.pipeline import runs_on_spark

    monkeypatch.setattr(runs_on_spark, "_WAVE", 0.0)
    short, long = GroupSetting(participants=5, messages=1, tail=1), GroupSetting(participants=2_000_000, tail=7_200_000)
    work = runs_on_spark.on_spark(spark, None, 1)([Run(short, 1), Run(long, 1)])
    assert next(work).participants == 5
    work.close()  # type: ignore[attr-defined]
    limit = time.monotonic() + PATIENCE
    while any(thread.name.startswith(runs_on_spark.WAVES) for thread in threading.enumerate()):
        assert time.monotonic() < limit, "the wave goes on"
        time.sleep(0.05)


def test_all_cores_of_spark_are_known(spark: SparkSession) -> None:
    from sdschat.pipeline.runs_on_spark import cores_of

    master = str(spark.conf.get("spark.master", ""))
    assert cores_of(spark) == (2 if master == "local[2]" else cores_of(spark)) > 0


def test_times_are_utc(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_what_spark_says_is_in_the_log(spark: SparkSession, where: SparkTarget) -> None:
    if where.remote:
        return  # the log is on the server
    assert where.log is not None
    assert where.log.exists()
