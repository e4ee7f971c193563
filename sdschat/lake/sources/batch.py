"""Rows of one table as Arrow columns."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow

from sdschat.audit.processes import BYTES, ROWS
from sdschat.audit.schemas import Blob, Ids, columns

ARROW: Final = {
    str: pyarrow.string(),
    int: pyarrow.int64(),
    bool: pyarrow.bool_(),
    float: pyarrow.float64(),
    Blob: pyarrow.binary(),
    Ids: pyarrow.list_(pyarrow.string()),
}


class Batch(NamedTuple):
    """Rows of one table."""

    table: type
    rows: pyarrow.RecordBatch


def batch_of(table: type, count: int, values: Mapping[str, Any]) -> Batch:
    """Make a batch. A column is given as a sequence, an Arrow array, one value for all rows, or not at all: null."""
    schema = arrow_schema(table)
    columns = [_array(values.get(field.name), field.type, count) for field in schema]
    return Batch(table, pyarrow.RecordBatch.from_arrays(columns, schema=schema))


def _array(value: Any, kind: pyarrow.DataType, count: int) -> pyarrow.Array:
    if isinstance(value, pyarrow.Array):
        return value
    if not isinstance(value, list | tuple):
        return pyarrow.repeat(pyarrow.scalar(value, kind), count)
    # Many columns of a journal are empty in all rows.
    if count and value[0] is None and value.count(None) == count:
        return pyarrow.nulls(count, kind)
    return pyarrow.array(value, kind)


def in_batches(rows: Iterable[Any]) -> Iterator[Batch]:
    waiting: dict[type, list[Any]] = {}
    size = 0
    for row in rows:
        held = waiting.setdefault(type(row), [])
        held.append(row)
        size += len(getattr(row, "raw", None) or b"")
        if len(held) >= ROWS:
            yield _of_rows(type(row), waiting.pop(type(row)))
        if size > BYTES:
            yield from (_of_rows(table, held) for table, held in waiting.items())
            waiting, size = {}, 0
    for table, held in waiting.items():
        yield _of_rows(table, held)


def _of_rows(table: type, rows: Sequence[Any]) -> Batch:
    return batch_of(table, len(rows), dict(zip(columns(table), zip(*rows, strict=True), strict=True)))


@functools.cache
def arrow_schema(table: type) -> pyarrow.Schema:
    return pyarrow.schema([(name, ARROW[kind]) for name, kind in columns(table).items()])


def table_of(table: type, rows: Sequence[Any]) -> pyarrow.Table:
    return pyarrow.Table.from_batches([_of_rows(table, rows).rows] if rows else [], arrow_schema(table))
