"""Rows collected for display: only the shown part, the first ones in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sdschat.audit.schemas import Ids, columns
from sdschat.lake.results import MOST

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

R = TypeVar("R")


def bring(found: DataFrame, table: type[R], order: tuple[str, ...], most: int = MOST) -> list[R]:
    """Collect the first `most` rows in this order."""
    lists = {name for name, (kind, _) in columns(table).items() if kind == Ids}
    return [
        table(**{name: tuple(value) if name in lists and value is not None else value for name, value in each.items()})
        for each in (row.asDict() for row in found.orderBy(*order).limit(most).collect())
    ]
