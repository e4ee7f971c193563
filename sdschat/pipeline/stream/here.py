"""A small batch for a lake on this machine's disk.

Its rows are read, compared with the known ones, and written in this process. Only its figures are computed by Spark, in
one task. So a user who waits for the batch waits for few jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pyarrow

from sdschat.audit.conform import conform
from sdschat.audit.schemas import Copy, Fingerprint, Journal, Packet, Quarantine, ddl
from sdschat.audit.sources.databases import Reading
from sdschat.audit.taken import Taken
from sdschat.pipeline.sources.batch import arrow_schema, rows_of, table_of
from sdschat.pipeline.sources.file_batches import ParsedInput, file_batches
from sdschat.pipeline.stream.parts import CountedParts, now_ms, spans_before
from sdschat.pipeline.stream.parts_here import PartsHere
from sdschat.pipeline.stream.seen import Span, Spans, Whose, together, unseen_at
from sdschat.pipeline.stream.tables import KEYS_OF_ROWS, Activity, Traffic, activity, prints, traffic

_TABLES: Final = (Journal, Packet, Quarantine)
_MOST: Final = 16 << 20  # bytes of JSON lines
_PACKED: Final = 8  # Parquet files are smaller by this factor


def is_little(paths: Sequence[str]) -> bool:
    """True if the files are on this machine and small enough: for memory, and to be done before Spark has planned."""
    return all(path.startswith("/") for path in paths) and sum(map(_size, paths)) <= _MOST


def _size(path: str) -> int:
    """Return the size of a file as lines; 0 for a missing file, which its reader reports."""
    file = Path(path)
    try:
        size = file.stat().st_size
    except OSError:
        return 0
    return size * _PACKED if file.suffix == ".parquet" else size


def take_in(parts: PartsHere, paths: Sequence[str], batch: int, run_id: str) -> None:
    began = now_ms()
    parts.begin(batch)
    rows = _read(paths, run_id)
    known = spans_before(parts, batch)
    journal, events = _new(rows[Journal], Journal, known)
    packets, told = _new(rows[Packet], Packet, known)
    for of, new in ((Journal, journal), (Packet, packets), (Quarantine, rows[Quarantine])):
        parts.write(of, batch, new.to_batches())
    if journal.num_rows:
        _count_journal(parts, batch, journal)
    if packets.num_rows:
        parts.put(Traffic, batch, traffic(parts.of_batches(Packet, [batch]).coalesce(1)))
    parts.keep(Span, batch, together(known, events | told))
    parts.count(batch, began, len(paths), journal.num_rows, packets.num_rows, rows[Quarantine].num_rows)


def _read(paths: Iterable[str], run_id: str) -> dict[type, pyarrow.Table]:
    memory = ParsedInput.of_process()
    found: dict[type, list[pyarrow.RecordBatch]] = {of: [] for of in _TABLES}
    for path in paths:
        for batch in file_batches(Reading(run_id, Path(path), 0, memory.open), _TABLES, memory):
            found[batch.table].append(rows_of(batch))
    return {of: pyarrow.Table.from_batches(batches, arrow_schema(of)) for of, batches in found.items()}


def _new(rows: pyarrow.Table, of: type, known: Spans) -> tuple[pyarrow.Table, Spans]:
    """Return the rows that are in no earlier batch, each once, and the spans of all rows."""
    *whose, seqs = (rows[name].to_pylist() for name in KEYS_OF_ROWS[of])
    boots = whose[2] if len(whose) > 2 else [""] * rows.num_rows
    keys: Iterable[Whose] = zip([of.__name__] * rows.num_rows, whose[0], whose[1], boots, strict=True)
    new, came = unseen_at(zip(keys, seqs, strict=True), known)
    return rows if len(new) == rows.num_rows else rows.take(pyarrow.array(new, pyarrow.int64())), came


def _count_journal(parts: PartsHere, batch: int, journal: pyarrow.Table) -> None:
    copies = {CountedParts(row.run_id, row.channel, row.node, row.message_id): row for row in _copies(journal)}
    for again in parts.held(parts.held_before(batch), copies.keys()):
        del copies[again]
    if copies:
        new = parts.spark.createDataFrame(table_of(Copy, list(copies.values())), ddl(Copy))
        parts.put(Fingerprint, batch, prints(new.coalesce(1)))
    parts.hold(batch, copies.keys(), parts.held_to_take_over(batch))
    parts.put(Activity, batch, activity(parts.of_batches(Journal, [batch]).coalesce(1)))


def _copies(journal: pyarrow.Table) -> list[Copy]:
    """Return the copies like `copies_of`. For that one Spark's planning takes longer than the whole batch."""
    columns = (journal[name].to_pylist() for name in Journal.__annotations__)
    return conform(Taken(list(map(Journal._make, zip(*columns, strict=True))))).copies
