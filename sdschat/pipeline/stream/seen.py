"""The rows of earlier batches, to find the new rows of a batch.

The amount read for this does not grow with the number of streamed rows. The exception are message ids, which have no
order, but few files of them are read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sdschat.audit.schemas import ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Span(NamedTuple):
    """Rows of one journal or tap, with all numbers from first to last."""

    of: str  # the table
    run_id: str
    whose: str  # node or tap
    boot: str
    first: int
    last: int


Whose = tuple[str, str, str, str]  # of, run_id, whose, boot
Spans = dict[Whose, list[tuple[int, int]]]


def joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge spans that touch or overlap."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def by_whose(rows: Iterable[Span]) -> Spans:
    found: Spans = defaultdict(list)
    for row in rows:
        found[row[:4]].append((row.first, row.last))
    return found


def together(known: Mapping[Whose, list[tuple[int, int]]], new: Mapping[Whose, list[tuple[int, int]]]) -> list[Span]:
    return [
        Span(*whose, first, last)
        for whose in sorted({*known, *new})
        for first, last in joined([*known.get(whose, ()), *new.get(whose, ())])
    ]


def numbers_in(spans: Mapping[Whose, list[tuple[int, int]]], of: type) -> int:
    """Return the number of rows of a table in these spans."""
    return sum(
        last - first + 1 for whose, its in spans.items() if whose[0] == of.__name__ for first, last in joined(its)
    )


def unseen_at(
    keys: Iterable[tuple[Whose, int]], known: Mapping[Whose, list[tuple[int, int]]]
) -> tuple[list[int], Spans]:
    """Return the indices of the rows in no known span, each key once; and the spans of all rows."""
    came: dict[Whose, set[int]] = defaultdict(set)
    before = {whose: joined(spans) for whose, spans in known.items()}
    new = []
    for at, (whose, seq) in enumerate(keys):
        there = came[whose]
        if seq not in there:
            there.add(seq)
            if not _within(before.get(whose, []), seq):
                new.append(at)
    return new, {whose: joined((seq, seq) for seq in there) for whose, there in came.items()}


def _within(spans: Sequence[tuple[int, int]], seq: int) -> bool:
    """True if `seq` is in one of these spans, which are sorted and do not touch."""
    at = bisect_right(spans, seq, key=lambda span: span[0]) - 1
    return at >= 0 and seq <= spans[at][1]


def spans_of(keys: DataFrame) -> Iterator[Span]:
    """Columns of, run_id, whose, boot, seq -> Span. Asks Spark, and collects one row for each span without a gap."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    whose = ("of", "run_id", "whose", "boot")
    placed = keys.distinct().withColumn("at", F.row_number().over(Window.partitionBy(*whose).orderBy("seq")))
    stretches = placed.groupBy(*whose, (F.col("seq") - F.col("at")).alias("stretch")).agg(
        F.min("seq").alias("first"), F.max("seq").alias("last")
    )
    for row in stretches.select(*Span._fields).collect():
        yield Span(*row)


def unseen(rows: DataFrame, keys: Sequence[str], spans: Iterable[Span]) -> DataFrame:
    """Return the rows in none of these spans, each once. `keys`: run_id, whose, the boot if there is one, seq."""
    from pyspark.sql import functions as F

    once, there = rows.dropDuplicates(list(keys)), list(spans)
    if not there:
        return once
    known = F.broadcast(rows.sparkSession.createDataFrame(there, ddl(Span)).alias("known"))
    same = F.col("new.seq").between(F.col("known.first"), F.col("known.last"))
    for ours, theirs in zip(keys[:-1], Span._fields[1:], strict=False):
        same = same & (F.col(f"new.{ours}") == F.col(f"known.{theirs}"))
    return once.alias("new").join(known, same, "left_anti")


def parts_before(count: int, there: Callable[[int], bool]) -> Iterator[int]:
    """Yield the batches whose parts together cover the first `count` batches: a Fenwick tree, so O(log count) of them.

    Batches are numbered from 1 here. The part of a batch covers all batches since the last one whose number is a
    multiple of a higher power of two. So there are no more parts than `count` has binary digits. Batches without a part
    are skipped.
    """
    at = count
    while at > 0:
        if there(at - 1):
            yield at - 1
            at -= at & -at
        else:
            at -= 1


def parts_to_take_over(batch: int, there: Callable[[int], bool]) -> Iterator[int]:
    """Yield the earlier parts that the part of this batch must include."""
    number = batch + 1
    since = number - (number & -number)
    for part in parts_before(batch, there):
        if part < since:
            return
        yield part
