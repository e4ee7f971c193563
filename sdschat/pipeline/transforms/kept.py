"""Temporary storage of rows that several queries need, so that they are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pyspark.sql import DataFrame

Keep = Callable[[DataFrame], DataFrame]


@contextmanager
def keeping() -> Iterator[Keep]:
    """Keep rows in memory until the end of the block, or on disk if memory is too small."""
    with ExitStack() as stack:

        def keep(rows: DataFrame) -> DataFrame:
            kept = rows.persist()
            stack.callback(kept.unpersist)
            return kept

        yield keep
