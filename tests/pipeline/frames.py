"""Rows as Spark data frames, and back."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sdschat.audit.schemas import Declared, Ids, Journal, Message, Node, columns, ddl
from sdschat.audit.taken import Taken

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sdschat.pipeline.lake import Lake

R = TypeVar("R")


def frame(spark: SparkSession, table: type, rows: Iterable[Any]) -> DataFrame:
    """Return the rows as a data frame, by Arrow: fast for thousands of rows."""
    import pyarrow

    from sdschat.pipeline.sources.batch import ARROW

    held = list(rows)
    schema = pyarrow.schema([(name, ARROW[kind]) for name, (kind, _) in columns(table).items()])
    values = {name: [getattr(row, name) for row in held] for name in columns(table)}
    return spark.createDataFrame(pyarrow.table(values, schema=schema)).selectExpr(
        *(f"CAST({part.rsplit(' ', 1)[0]} AS {part.rsplit(' ', 1)[1]})" for part in ddl(table).split(", "))
    )


def rows(found: DataFrame, table: type[R]) -> list[R]:
    """Return the rows of a data frame, sorted for comparisons: Spark returns them in any order."""
    lists = {name for name, (kind, _) in columns(table).items() if kind == Ids}
    plain = [
        table(**{name: tuple(value) if name in lists and value is not None else value for name, value in each.items()})
        for each in (row.asDict() for row in found.select(*columns(table)).collect())
    ]
    return sorted(plain, key=repr)


def plan_of(found: DataFrame) -> str:
    """Return Spark's plan for a data frame, as text."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        found.explain()
    return said.getvalue()


def lake_of(spark: SparkSession, root: Path, taken: Taken) -> Lake:
    """Make a lake with only these rows in bronze."""
    from sdschat.pipeline.lake import Lake

    lake = Lake(spark, str(root))
    for table, held in (
        (Journal, taken.journal),
        (Message, taken.messages),
        (Node, taken.nodes),
        (Declared, taken.declared),
    ):
        lake.append(table, frame(spark, table, held))
    return lake
