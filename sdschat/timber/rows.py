"""Rows that are saved: the state at the last compaction, the operations in front of it, and our own events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from sdschat.timber.chat import SavedPosts
from sdschat.timber.values import AuthorRow, CheckpointMark, Clock, Kind, Post, PostId, SlotRow, State, VoteRow


class CompactionRow(NamedTuple):
    """The state at the last compaction, but for what has rows of its own."""

    data_set: bytes
    mark: CheckpointMark
    newest: bytes
    turn: int
    electors: tuple[int, ...]
    votes: tuple[VoteRow, ...]
    order: Clock


def compaction_row(data_set: bytes, state: State) -> CompactionRow:
    return CompactionRow(data_set, state.mark, state.newest, state.turn, state.electors, state.votes, state.order)


class OwnRow(NamedTuple):
    """Our last event number in a slot."""

    slot: int
    number: int


class OperationRow(NamedTuple):
    slot: int
    seq: int
    arrival: int
    raw: bytes
    signature: bytes


class OutboxRow(NamedTuple):
    """An event of ours that is not settled."""

    name: PostId
    raw: bytes
    signature: bytes
    lost: bool = False  # it was in an operation that no longer counts


class DraftRow(NamedTuple):
    """An event that waits until we have a slot."""

    number: int
    kind: Kind
    text: str
    target: PostId | None
    key: bytes
    time: int


class ReplicaTable(StrEnum):
    LOG = "log"
    OWN = "own"
    SLOT = "slot"
    AUTHOR = "author"
    POST = "post"
    OPERATION = "operation"
    OUTBOX = "outbox"
    DRAFT = "draft"


Row = CompactionRow | OwnRow | SlotRow | AuthorRow | Post | OperationRow | OutboxRow | DraftRow
Key = tuple[int, ...]


class Put(NamedTuple):
    """Insert or replace a row."""

    table: ReplicaTable
    key: Key
    row: Row


class Drop(NamedTuple):
    """Delete a row, which may be absent."""

    table: ReplicaTable
    key: Key


Write = Put | Drop


def key_of(row: Row) -> tuple[ReplicaTable, Key]:
    match row:
        case CompactionRow():
            return ReplicaTable.LOG, ()
        case OwnRow():
            return ReplicaTable.OWN, (row.slot,)
        case SlotRow():
            return ReplicaTable.SLOT, (row.number,)
        case AuthorRow():
            return ReplicaTable.AUTHOR, (row.slot,)
        case Post():
            return ReplicaTable.POST, tuple(row.name)
        case OperationRow():
            return ReplicaTable.OPERATION, (row.slot, row.seq)
        case OutboxRow():
            return ReplicaTable.OUTBOX, tuple(row.name)
        case DraftRow():
            return ReplicaTable.DRAFT, (row.number,)


class Snapshot(NamedTuple):
    """All rows on disk. Their order has no meaning."""

    log: CompactionRow | None = None
    own: tuple[OwnRow, ...] = ()
    slots: tuple[SlotRow, ...] = ()
    authors: tuple[AuthorRow, ...] = ()
    posts: tuple[Post, ...] = ()
    operations: tuple[OperationRow, ...] = ()
    outbox: tuple[OutboxRow, ...] = ()
    drafts: tuple[DraftRow, ...] = ()
    saved: SavedPosts | None = None  # posts that are read later, in place of `posts`


@dataclass(slots=True, eq=False)
class RowCollector:
    """Collects the writes of one step; a row that changes more than once is written once, in its last form."""

    _rows: dict[tuple[ReplicaTable, Key], Write] = field(default_factory=dict, init=False)

    def put(self, row: Row) -> None:
        table, key = key_of(row)
        self._rows[(table, key)] = Put(table, key, row)

    def drop(self, table: ReplicaTable, key: Iterable[int]) -> None:
        place = tuple(key)
        self._rows[(table, place)] = Drop(table, place)

    def drain(self) -> tuple[Write, ...]:
        writes = tuple(self._rows.values())
        self._rows.clear()
        return writes
