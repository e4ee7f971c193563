"""What earlier batches have, so that what comes again is told from what is new. How much is read for that does not grow
with the rows that were streamed; but for ids of messages, which are in no order, and of which few files are read."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sdschat.pipeline.schemas import ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Span(NamedTuple):
    """Rows of one journal or tap that came, without a gap."""

    of: str  # the table
    run_id: str
    whose: str  # node or tap
    boot: str
    first: int
    last: int


Whose = tuple[str, str, str, str]  # of, run_id, whose, boot
Spans = dict[Whose, list[tuple[int, int]]]


def joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that touch or overlap are one."""
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
    """How many rows of a table they are."""
    return sum(
        last - first + 1 for whose, its in spans.items() if whose[0] == of.__name__ for first, last in joined(its)
    )


def unseen_at(
    keys: Iterable[tuple[Whose, int]], known: Mapping[Whose, list[tuple[int, int]]]
) -> tuple[list[int], Spans]:
    """Which of these rows are in none of the known stretches, the first of each; and the stretches of all of them."""
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
    """Of stretches in their order, none of which touch."""
    at = bisect_right(spans, seq, key=lambda span: span[0]) - 1
    return at >= 0 and seq <= spans[at][1]


def spans_of(keys: DataFrame) -> Iterator[Span]:
    """Columns of, run_id, whose, boot, seq -> Span. Asks Spark: one row for each stretch without a gap comes here."""
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
    """Rows that are in none of these spans, each once. `keys`: run_id, whose, the boot if there are any, seq."""
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
    """Which of the first so many batches have, together, what all of these have. The part of each has what came since
    the last one whose number, from 1, is a multiple of a higher power of two: so there are no more than that number has
    binary digits, however many batches there were. Batches without a part are stepped over."""
    at = count
    while at > 0:
        if there(at - 1):
            yield at - 1
            at -= at & -at
        else:
            at -= 1


def parts_to_take_over(batch: int, there: Callable[[int], bool]) -> Iterator[int]:
    """The earlier parts that the part of this batch has in it as well."""
    number = batch + 1
    since = number - (number & -number)
    for part in parts_before(batch, there):
        if part < since:
            return
        yield part
