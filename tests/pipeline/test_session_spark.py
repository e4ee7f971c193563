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


def test_times_are_utc(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_what_spark_says_is_in_the_log(spark: SparkSession, where: Where) -> None:
    if where.remote:
        return  # the server's log is the server's
    assert where.log is not None
    assert where.log.exists()
