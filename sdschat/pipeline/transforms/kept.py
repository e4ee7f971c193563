"""Rows of which several questions are asked are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pyspark.sql import DataFrame

Keep = Callable[[DataFrame], DataFrame]


@contextmanager
def keeping() -> Iterator[Keep]:
    """Rows given to this stay in memory, or on disk where that is too small, to the end of the block."""
    with ExitStack() as stack:

        def keep(rows: DataFrame) -> DataFrame:
            kept = rows.persist()
            stack.callback(kept.unpersist)
            return kept

        yield keep
