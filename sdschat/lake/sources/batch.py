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
    """Rows of one table. Columns that are not in `columns` are null."""

    table: type
    size: int
    columns: Mapping[str, pyarrow.Array]


def batch_of(table: type, count: int, **values: Any) -> Batch:
    """Make a batch. Each column is given as a sequence, an Arrow array, or one value for all rows."""
    kinds = columns(table)
    return Batch(table, count, {name: _array(value, ARROW[kinds[name]], count) for name, value in values.items()})


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
    return batch_of(table, len(rows), **dict(zip(columns(table), zip(*rows, strict=True), strict=True)))


@functools.cache
def arrow_schema(table: type) -> pyarrow.Schema:
    return pyarrow.schema([(name, ARROW[kind]) for name, kind in columns(table).items()])


def rows_of(batch: Batch) -> pyarrow.RecordBatch:
    schema = arrow_schema(batch.table)
    nulls = {field.name: pyarrow.nulls(batch.size, field.type) for field in schema if field.name not in batch.columns}
    return pyarrow.RecordBatch.from_pydict(nulls | dict(batch.columns), schema=schema)


def table_of(table: type, rows: Sequence[Any]) -> pyarrow.Table:
    return pyarrow.Table.from_batches([rows_of(_of_rows(table, rows))] if rows else [], arrow_schema(table))
