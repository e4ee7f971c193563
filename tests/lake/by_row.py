"""Files read row by row, also where an ingest reads them by column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sdschat.audit.schemas import Declared, Journal, Message, Node, Packet, Quarantine
from sdschat.audit.sources.databases import Reading, is_database, read_database
from tests.needs import needs_module

needs_module("pyarrow")

from sdschat.lake.sources.batch import Batch
from sdschat.lake.sources.files import LINES, file_batches, line_rows

TABLES = (Journal, Message, Node, Declared, Packet, Quarantine)


def read_file(reading: Reading) -> Iterator[Any]:
    if is_database(reading.path):
        yield from read_database(reading)
    elif reading.path.is_file() and reading.path.suffix in LINES:
        with reading.path.open("rb") as file:
            yield from line_rows(reading, file)
    else:
        for batch in file_batches(reading, TABLES):
            yield from rows_of(batch)


def rows_of(found: Batch) -> list[Any]:
    return [found.table(*map(_frozen, row.values())) for row in found.rows.to_pylist()]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
