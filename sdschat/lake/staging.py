"""Files are read into Parquet files of one table and one source each, by several processes where there is much."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow.parquet

from sdschat.audit.processes import size_of, spawned
from sdschat.audit.schemas import Quarantine
from sdschat.audit.sources.databases import Reading
from sdschat.audit.sources.packets import Memory
from sdschat.lake.sources.batch import arrow_schema
from sdschat.lake.sources.files import file_batches

_REMEMBERED: Final = 200_000  # decoded packets kept for the next database
_MUCH: Final = 64 << 20  # bytes of files, from which on the start of more processes pays


class Source(NamedTuple):
    """A file to read, and what is wanted of it. `number` names its Parquet files."""

    number: int
    path: str
    tables: tuple[type, ...]


def stage(sources: Sequence[Source], folder: Path, run_id: str, read_ms: int) -> list[tuple[Source, Counter[str]]]:
    """Read the files. Return with each how many rows of which table it has."""
    sizes = {source: size_of(Path(source.path)) for source in sources}
    processes = min(len(sources), os.cpu_count() or 1)
    job = partial(_stage, folder=folder, run_id=run_id, read_ms=read_ms)
    if processes < 2 or sum(sizes.values()) < _MUCH:
        return list(map(job, sources))
    largest_first = sorted(sources, key=lambda source: -sizes[source])
    with spawned(processes) as pool:
        return list(pool.map(job, largest_first))


def staged_file(folder: Path, table: type, number: int) -> Path:
    return folder / table.__name__.lower() / f"{number}.parquet"


@cache
def _kept() -> Memory:
    return Memory(_REMEMBERED, sized=True)


def _memory() -> Memory:
    """Return the memory of this process, which reads several files with the same packets."""
    if _kept().full:
        _kept.cache_clear()
    return _kept()


def _stage(source: Source, folder: Path, run_id: str, read_ms: int) -> tuple[Source, Counter[str]]:
    reading = Reading(run_id, Path(source.path), read_ms, _memory())
    counts: Counter[str] = Counter()
    writers: dict[type, pyarrow.parquet.ParquetWriter] = {}
    with ExitStack() as stack:
        for batch in file_batches(reading, {*source.tables, Quarantine}):
            if batch.table not in writers:
                file = staged_file(folder, batch.table, source.number)
                file.parent.mkdir(exist_ok=True)
                writer = pyarrow.parquet.ParquetWriter(
                    file, arrow_schema(batch.table), compression="lz4", write_statistics=False
                )
                writers[batch.table] = stack.enter_context(writer)
            writers[batch.table].write_batch(batch.rows)
            counts[batch.table.__name__] += batch.rows.num_rows
    return source, counts
