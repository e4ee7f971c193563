"""Rows as Spark data frames, and back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sdschat.audit.node_evidence import BronzeRows
from sdschat.audit.schemas import Ids, columns
from tests.lake.bronze import bronze

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sdschat.pipeline.lake import Lake

R = TypeVar("R")


def rows(found: DataFrame, table: type[R]) -> list[R]:
    """Return the rows of a data frame, sorted for comparisons: Spark returns them in any order."""
    lists = {name for name, kind in columns(table).items() if kind == Ids}
    plain = [
        table(**{name: tuple(value) if name in lists and value is not None else value for name, value in each.items()})
        for each in (row.asDict() for row in found.select(*columns(table)).collect())
    ]
    return sorted(plain, key=repr)


def lake_of(spark: SparkSession, root: Path, taken: BronzeRows) -> Lake:
    """Make a lake with only these rows in bronze."""
    from sdschat.pipeline.lake import Lake

    return Lake(spark, str(bronze(root, taken)))
