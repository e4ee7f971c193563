"""A batch of any size, for a lake at any place. Every step is a Spark job with all available tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sdschat.audit.schemas import Fingerprint, Journal, Packet, Quarantine
from sdschat.pipeline.stream.parts import CountedParts, Parts, now_ms, spans_before
from sdschat.pipeline.stream.seen import (
    Span,
    Spans,
    by_whose,
    numbers_in,
    spans_of,
    together,
    unseen,
)
from sdschat.pipeline.stream.tables import KEYS_OF_ROWS, Activity, Traffic, activity, copies_of, prints, traffic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sdschat.pipeline.transforms.kept import Keep

_FEW: Final = 100_000  # rows that are few enough to be sent to every task


def take_in(parts: Parts, paths: Sequence[str], batch: int, run_id: str) -> None:
    """Process a batch. A table without new rows is not written, because every table costs a job."""
    from sdschat.pipeline.sources.staged import load, of_table
    from sdschat.pipeline.transforms.kept import keeping

    began = now_ms()
    parts.begin(batch)
    with keeping() as keep:
        rows = keep(load(parts.spark, paths, (Packet, Journal, Quarantine), run_id, 0))
        came = by_whose(spans_of(_keys(rows)))
        known = spans_before(parts, batch)
        tables = {whose[0] for whose in came}
        now = together(known, {whose: spans for whose, spans in came.items() if whose[0] != Quarantine.__name__})
        events, told = (numbers_in(by_whose(now), of) - numbers_in(known, of) for of in (Journal, Packet))
        refused = 0
        if Journal.__name__ in tables:
            _take_journal(parts, batch, keep(_new(rows, Journal, came, known)), events <= _FEW, keep)
        if Packet.__name__ in tables:
            packets = keep(_new(rows, Packet, came, known))
            parts.put(Packet, batch, packets)
            parts.put(Traffic, batch, traffic(packets))
        if Quarantine.__name__ in tables:
            bad = of_table(rows, Quarantine)
            parts.put(Quarantine, batch, bad)
            refused = bad.count()
    parts.keep(Span, batch, now)
    parts.count(batch, began, len(paths), events, told, refused)


def _take_journal(parts: Parts, batch: int, journal: DataFrame, few: bool, keep: Keep) -> None:
    copies = keep(copies_of(parts.spark, journal))
    new = keep(_uncounted(parts, batch, copies, few))
    parts.put(Fingerprint, batch, prints(new))
    parts.put(Journal, batch, journal)
    taken = parts.held_to_take_over(batch)
    held = new.select(*CountedParts._fields)
    parts.put(CountedParts, batch, held.union(parts.of_batches(CountedParts, taken)) if taken else held, 1)
    parts.put(Activity, batch, activity(journal))


def _uncounted(parts: Parts, batch: int, copies: DataFrame, few: bool) -> DataFrame:
    """Return the copies that are in no earlier batch.

    The earlier rows are many and the new ones few. So the new keys are sent to the earlier rows, which do not move.
    """
    from pyspark.sql import functions as F

    keys = list(CountedParts._fields)
    known = parts.held_before(batch)
    if not known:
        return copies
    sought = copies.select(*keys)
    again = parts.of_batches(CountedParts, known).join(F.broadcast(sought) if few else sought, keys, "left_semi")
    return copies.join(F.broadcast(again) if few else again, keys, "left_anti")


def _keys(rows: DataFrame) -> DataFrame:
    """Staged rows -> of, run_id, whose, boot, seq."""
    from pyspark.sql import functions as F

    return rows.select(
        F.col("table").alias("of"),
        "run_id",
        F.coalesce("node", "tap", F.lit("")).alias("whose"),
        F.coalesce("boot", F.lit("")).alias("boot"),
        F.coalesce("seq", F.lit(0)).alias("seq"),
    )


def _new(rows: DataFrame, of: type, came: Spans, known: Spans) -> DataFrame:
    """Return the rows that are in no earlier batch, each once."""
    from sdschat.pipeline.sources.staged import of_table

    again = [
        Span(*whose, *span)
        for whose, spans in came.items()
        if whose[0] == of.__name__
        for span in known.get(whose, ())
        if any(first <= span[1] and span[0] <= last for first, last in spans)
    ]
    return unseen(of_table(rows, of), KEYS_OF_ROWS[of], again)
