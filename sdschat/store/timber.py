"""The saved state of a members' channel: the rows of its engine, of which what is deleted leaves no trace.

Rows have no copy elsewhere: no index of their words, no journal of their texts. SQLite overwrites what is deleted
(`secure_delete`), and after a commit that deletes texts the write-ahead log is emptied into the database and cut.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from sdschat.store.columns import dump_plain, row_sum, small_sum
from sdschat.store.errors import StoreDamaged, as_store_error
from sdschat.store.transaction import Transaction
from sdschat.timber.chat import Head
from sdschat.timber.rows import (
    CompactionRow,
    DraftRow,
    OperationRow,
    OutboxRow,
    OwnRow,
    Put,
    ReplicaTable,
    Row,
    Snapshot,
    Write,
)
from sdschat.timber.values import (
    Accept,
    AuthorRow,
    Ballot,
    CheckpointMark,
    Clock,
    Kind,
    Post,
    PostId,
    Proposal,
    SlotRow,
    Value,
    VoteRow,
)

_ROW: Final = ("timber_row", "name", "value")
_POST: Final = ("timber_post", "author, number", "rank, time, text, edit, answers")
_OPERATION: Final = ("timber_operation", "name", "arrival, raw, signature")
_TABLES: Final = (_ROW, _POST, _OPERATION)
_SUMS: Final = {_ROW[0]: row_sum, _POST[0]: small_sum, _OPERATION[0]: row_sum}


class Database(Protocol):
    """The writer (`Store`) or a `Reader`."""

    connection: sqlite3.Connection
    path: Path


def _upsert(table: str, key: str, columns: str) -> str:
    names = f"channel, {key}, {columns}, sum"
    changed = ", ".join(f"{name} = excluded.{name}" for name in (*columns.split(", "), "sum"))
    places = ", ".join("?" * len(names.split(", ")))
    return f"INSERT INTO {table} ({names}) VALUES ({places}) ON CONFLICT (channel, {key}) DO UPDATE SET {changed}"


def _delete(table: str, key: str) -> str:
    return f"DELETE FROM {table} WHERE channel = ? AND " + " AND ".join(f"{name} = ?" for name in key.split(", "))


_PUTS: Final = {table: _upsert(table, key, columns) for table, key, columns in _TABLES}
_DROPS: Final = {table: _delete(table, key) for table, key, _ in _TABLES}
_COUNT: Final = "SELECT count(*) FROM timber_post WHERE channel = ?"
_HEADS: Final = "SELECT rank, author, number, time, edit FROM timber_post WHERE channel = ?"
_NUMBER: Final = "SELECT id FROM channel WHERE name = ?"


def save_timber(transaction: Transaction, channel: str, writes: Sequence[Write], *, wipe: bool = False) -> None:
    """Apply the writes of one step with the transaction. `wipe`: they delete texts that must be gone from the disk."""
    transaction.also(channel, lambda connection, number: _write(connection, number, writes))
    transaction.wipes |= wipe


def load_timber(database: Database, channel: str) -> Snapshot | None:
    """Return the saved rows; None if there are none. Raises StoreDamaged for a row that the disk altered."""
    snapshot = open_timber(database, channel)
    if snapshot is None or snapshot.saved is None:
        return snapshot
    return snapshot._replace(posts=tuple(snapshot.saved), saved=None)


def open_timber(database: Database, channel: str) -> Snapshot | None:
    """Return the saved rows as `load_timber` does, with posts that are read, and checked, when they are asked for."""
    with as_store_error(database.path):
        found = database.connection.execute(_NUMBER, (channel,)).fetchone()
    if found is None:
        return None
    rows = [row for table in (_ROW, _OPERATION) for row in _read(database, channel, found[0], table)]
    posts = StoredPosts(database, channel, found[0])
    return _snapshot(rows)._replace(saved=posts) if rows or len(posts) else None


class StoredPosts:
    """The posts of a members' channel in the database; see `SavedPosts`."""

    def __init__(self, database: Database, channel: str, number: int) -> None:
        self._database = database
        self._channel = channel
        self._number = number

    def __len__(self) -> int:
        with as_store_error(self._database.path):
            found = self._database.connection.execute(_COUNT, (self._number,)).fetchone()
        return int(found[0])

    def __iter__(self) -> Iterator[Post]:
        for row in _read(self._database, self._channel, self._number, _POST):
            assert isinstance(row, Post)
            yield row

    def get(self, name: PostId) -> Post | None:
        for row in _read(self._database, self._channel, self._number, _POST, name):
            assert isinstance(row, Post)
            return row
        return None

    def heads(self) -> list[Head]:
        with as_store_error(self._database.path):
            return self._database.connection.execute(_HEADS, (self._number,)).fetchall()


def _read(
    database: Database, channel: str, number: int, place: tuple[str, str, str], wanted: PostId | None = None
) -> Iterator[Row]:
    table, key, columns = place
    query = f"SELECT channel, {key}, {columns}, sum FROM {table} WHERE channel = ?"
    if wanted is not None:
        query += " AND author = ? AND number = ?"
    sum_of = _SUMS[table]
    with as_store_error(database.path):
        for row in database.connection.execute(query, (number, *(wanted or ()))).fetchall():
            if sum_of(row[:-1]) != row[-1]:
                raise StoreDamaged(database.path, f"channel {channel}: a row of {table} was altered")
            yield _row_from(table, row[1:-1])


def _write(connection: sqlite3.Connection, number: int, writes: Iterable[Write]) -> None:
    for write in writes:
        table, key = _place(write)
        if isinstance(write, Put):
            values = (number, *key, *_columns(write.row))
            connection.execute(_PUTS[table], (*values, _SUMS[table](values)))
        else:
            connection.execute(_DROPS[table], (number, *key))


def _place(write: Write) -> tuple[str, tuple[int | str, ...]]:
    """Return the table and the key of a row."""
    if write.table is ReplicaTable.POST:
        return _POST[0], write.key
    name = ":".join(map(str, write.key))
    if write.table is ReplicaTable.OPERATION:
        return _OPERATION[0], (name,)
    return _ROW[0], (f"{write.table}/{name}",)


def _columns(row: Row) -> tuple[Any, ...]:
    if isinstance(row, Post):
        answers = "" if row.answers is None else f"{row.answers.author}:{row.answers.number}"
        return row.place, row.time, row.text, row.edit, answers
    if isinstance(row, OperationRow):
        return row.arrival, row.raw, row.signature
    return (dump_plain(row),)


def _row_from(table: str, values: Sequence[Any]) -> Row:
    if table == _POST[0]:
        author, number, place, time, text, edit, answers = values
        return Post(PostId(author, number), place, time, text, edit, PostId(*_numbers(answers)) if answers else None)
    name, *rest = values
    if table == _OPERATION[0]:
        return OperationRow(*_numbers(name), *rest)
    kind = ReplicaTable(name.partition("/")[0])
    return _FROM_JSON[kind](*json.loads(rest[0]))


def _numbers(name: str) -> tuple[int, int]:
    one, other = name.split(":")
    return int(one), int(other)


def _snapshot(rows: Iterable[Row]) -> Snapshot:
    log: CompactionRow | None = None
    found: dict[type[Any], list[Any]] = {}
    for row in rows:
        if isinstance(row, CompactionRow):
            log = row
        else:
            found.setdefault(type(row), []).append(row)
    kinds = (OwnRow, SlotRow, AuthorRow, Post, OperationRow, OutboxRow, DraftRow)
    own, slots, authors, posts, operations, outbox, drafts = (tuple(found.get(kind, ())) for kind in kinds)
    return Snapshot(log, own, slots, authors, posts, operations, outbox, drafts)


# Values of rows from JSON.


def _clock(pairs: Any) -> Clock:
    return tuple((slot, seq) for slot, seq in pairs)


def _ballot(pair: Any) -> Ballot | None:
    return None if pair is None else Ballot(*pair)


def _value(pair: Any) -> Value:
    return Value(_clock(pair[0]), tuple(pair[1]))


def _vote(values: Any) -> VoteRow:
    slot, prepare, promise, before, propose, accept = values
    return VoteRow(
        slot,
        _ballot(prepare),
        _ballot(promise),
        None if before is None else (Ballot(*before[0]), _value(before[1])),
        None if propose is None else Proposal(Ballot(*propose[0]), _value(propose[1]), propose[2]),
        None if accept is None else Accept(Ballot(*accept[0]), _value(accept[1]), accept[2]),
    )


def _log(data_set: str, mark: Any, newest: str, turn: int, electors: Any, votes: Any, order: Any) -> CompactionRow:
    return CompactionRow(
        bytes.fromhex(data_set),
        CheckpointMark(mark[0], bytes.fromhex(mark[1])),
        bytes.fromhex(newest),
        turn,
        tuple(electors),
        tuple(map(_vote, votes)),
        _clock(order),
    )


def _slot(number: int, key: str, seq: int, newest: str, clock: Any, *rest: Any) -> SlotRow:
    return SlotRow(number, bytes.fromhex(key), seq, bytes.fromhex(newest), _clock(clock), *rest)


def _outbox(name: Any, raw: str, signature: str, lost: bool) -> OutboxRow:
    return OutboxRow(PostId(*name), bytes.fromhex(raw), bytes.fromhex(signature), lost)


def _draft(number: int, kind: int, text: str, target: Any, key: str, time: int) -> DraftRow:
    post = None if target is None else PostId(*target)
    return DraftRow(number, Kind(kind), text, post, bytes.fromhex(key), time)


_FROM_JSON: Final[dict[ReplicaTable, Callable[..., Row]]] = {
    ReplicaTable.LOG: _log,
    ReplicaTable.OWN: OwnRow,
    ReplicaTable.SLOT: _slot,
    ReplicaTable.AUTHOR: lambda slot, done: AuthorRow(slot, _clock(done)),
    ReplicaTable.OUTBOX: _outbox,
    ReplicaTable.DRAFT: _draft,
}
