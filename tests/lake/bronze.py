"""A lake in a folder, with rows given by a test, and without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sdschat.audit.node_evidence import BronzeRows
from sdschat.audit.schemas import Declared, Ids, Journal, KnownVersion, Message, Node, columns
from sdschat.lake.tables import BUCKET, BUCKETED, PARTED, PARTS, ROW_SUM

DIGITS = 15  # of a hash, that are a number for a node, a message or a version


def bronze(folder: Path, taken: BronzeRows) -> Path:
    """Make a lake with only these rows, or add them."""
    from sdschat.lake.tables import Tables

    tables = Tables(str(folder))
    every: dict[type, Sequence[object]] = {
        Journal: taken.journal,
        Message: taken.messages,
        Node: taken.nodes,
        Declared: taken.declared,
    }
    for table, held in every.items():
        if held and table is Message:
            noted = _noted(held, before=Message in tables)
            tables.append(KnownVersion, stored(KnownVersion, _versions(noted)))
            tables.append(Message, stored(Message, noted))
        elif held:
            tables.append(table, stored(table, held))
    return folder


def _noted(messages: Sequence[Any], before: bool) -> list[Message]:
    """Note of rows whether others of their key may be there, and their numbers, as an ingest does."""
    there: set[tuple[str, ...]] = set()
    found = []
    for row in messages:
        key = (row.run_id, row.channel, row.node, row.message_id)
        found.append(with_numbers(row)._replace(again=before or key in there))
        there.add(key)
    return found


def with_numbers(row: Message) -> Message:
    """Return the row with the numbers that an ingest computes."""
    member = (row.run_id, row.channel, row.node)
    message = (row.run_id, row.channel, row.message_id)
    version = (*message, str(row.lamport), row.sender, "\x1f".join(row.deps), row.digest)
    return row._replace(member_key=_number(member), message_key=_number(message), version_key=_number(version))


def _number(said: tuple[str, ...]) -> int:
    return int(md5("\x1f".join(said).encode()).hexdigest()[:DIGITS], 16)


def _versions(messages: Sequence[Message]) -> list[KnownVersion]:
    names = KnownVersion._fields
    return sorted({KnownVersion(*(getattr(row, name) for name in names)) for row in messages})


def stored(table: type, held: Sequence[Any]) -> Any:
    """Return rows with the columns that a lake adds."""
    import pyarrow

    from sdschat.lake.sources.batch import table_of

    rows = table_of(table, [tuple(getattr(row, name) for name in columns(table)) for row in held])
    if table in PARTED:
        for name, kind, value in (
            (ROW_SUM, pyarrow.int64(), 0),
            (PARTS[1], pyarrow.int64(), 0),
        ):
            rows = rows.append_column(pyarrow.field(name, kind), pyarrow.repeat(pyarrow.scalar(value, kind), len(held)))
        rows = _with_key(rows, held, PARTS[0], 8)
    return _with_key(rows, held, BUCKET, 2) if table in BUCKETED else rows


def _with_key(rows: Any, held: Sequence[Any], name: str, digits: int) -> Any:
    import pyarrow

    keys = [md5(f"{row.run_id}\x1f{row.channel}".encode()).hexdigest()[:digits] for row in held]
    return rows.append_column(pyarrow.field(name, pyarrow.string()), pyarrow.array(keys, pyarrow.string()))


def rows_in(tables: Any, table: type) -> list[Any]:
    """Return the rows of a table, in no order."""
    from sdschat.lake.duck import connected, parquet_rows

    lists = [at for at, kind in enumerate(columns(table).values()) if kind == Ids]
    with TemporaryDirectory() as scratch, connected(scratch) as connection:
        files = tables.files(table)
        found = connection.execute(parquet_rows(connection, table, files)).fetchall()
    return [
        table(*(tuple(value) if at in lists and value is not None else value for at, value in enumerate(row)))
        for row in found
    ]
