"""Exported journals as columns: the same rows as `files` reads.

A block of a journal that holds only sound events is read as columns; any other block is read line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any, BinaryIO, Final

import pyarrow
import pyarrow.compute
import pyarrow.json

from sdschat.audit.schemas import Journal
from sdschat.audit.sources.databases import Reading
from sdschat.lake.sources.batch import Batch, arrow_schema, in_batches
from sdschat.lake.sources.files import line_rows

_BLOCK: Final = 4 << 20
_NEEDED: Final = ("v", "node", "boot", "seq", "ts_ms", "event")


def line_batches(reading: Reading) -> Iterator[Batch]:
    number = 1
    with open(reading.path, "rb") as file:
        for block in blocks(file):
            events = sound_events(block)
            if events is None:
                yield from in_batches(line_rows(reading, BytesIO(block), number))
            else:
                yield _batch(reading, events)
            number += block.count(b"\n")


def blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield blocks of whole lines. Only the last line may lack its end."""
    begun: list[bytes] = []  # the beginning of a line, which may be longer than a block
    while chunk := file.read(_BLOCK):
        whole, end, rest = chunk.rpartition(b"\n")
        if end:
            yield b"".join((*begun, whole, end))
            begun.clear()
        begun.append(rest)
    if last := b"".join(begun):
        yield last


def sound_events(block: bytes) -> pyarrow.Table | None:
    """Return the events of a block with one event per line, else None.

    Arrow accepts objects without regard to the ends of lines, and any text, so both are checked first.
    """
    lines = block.count(b"\n")
    if not (block.startswith(b"{") and block.endswith(b"}\n") and block.count(b"}\n{") == lines - 1):
        return None
    reads = pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    parses = pyarrow.json.ParseOptions(explicit_schema=arrow_schema(Journal), unexpected_field_behavior="error")
    try:
        block.decode()
        events = pyarrow.json.read_json(pyarrow.BufferReader(block), reads, parses)
    except (UnicodeDecodeError, pyarrow.ArrowException):
        return None
    if events.num_rows != lines or any(events[name].null_count for name in _NEEDED):
        return None
    return None if pyarrow.compute.list_flatten(events["deps"]).null_count else events


def _batch(reading: Reading, events: pyarrow.Table) -> Batch:
    given: dict[str, Any] = {name: events[name].combine_chunks() for name in events.column_names}
    for name, value in {"run_id": reading.run_id, "channel": "", "mono_us": 0}.items():
        given[name] = pyarrow.compute.fill_null(given[name], value)
    run = given["run_id"]
    given["run_id"] = pyarrow.compute.if_else(pyarrow.compute.equal(run, ""), reading.run_id, run)
    return Batch(Journal, events.num_rows, given)
