"""A session that runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sdschat.pipeline.session import Where


def _with_the_package(batches: Iterator[Any]) -> Iterator[Any]:
    import sdschat.sim.network  # on the worker

    assert sdschat.sim.network.mix(1)
    yield from batches


def test_workers_can_import_the_package(spark: SparkSession) -> None:
    rows = spark.range(4).mapInArrow(_with_the_package, "id long").collect()
    assert sorted(row.id for row in rows) == [0, 1, 2, 3]


def test_runs_on_spark_are_those_of_processes(spark: SparkSession) -> None:
    from sdschat.pipeline.grid.gridfile import Run
    from sdschat.pipeline.grid.setting import Setting
    from sdschat.pipeline.grid.workers import on_processes, on_spark

    runs = [Run(Setting(participants=6, messages=2, tail=20_000), seed) for seed in range(3)]
    there = {row.run_id: row.figures for row in on_spark(spark, None)(runs)}
    assert there == {row.run_id: row.figures for row in on_processes(1, None)(runs)}


def test_times_are_utc(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_what_spark_says_is_in_the_log(spark: SparkSession, where: Where) -> None:
    if where.remote:
        return  # the server's log is the server's
    assert where.log is not None
    assert where.log.exists()
