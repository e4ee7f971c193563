"""The saved state of an MVDS engine: its rows as JSON by table and key, and its messages, which are its archive."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sdschat.mvds.values import (
    AheadRow,
    Drop,
    GroupRow,
    Head,
    HeadsRow,
    Keep,
    Message,
    MessageRow,
    Metadata,
    Mode,
    PeerRow,
    PeerTable,
    Put,
    RecordRow,
    RecordType,
    Row,
    Snapshot,
    WaitingRow,
    Write,
)
from sdschat.store.columns import dump_plain, row_sum
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

_PUT: Final = (
    "INSERT INTO mvds_row (channel, name, value, sum) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (channel, name) DO UPDATE SET value = excluded.value, sum = excluded.sum"
)
_DROP: Final = "DELETE FROM mvds_row WHERE channel = ? AND name = ?"
_ROWS: Final = "SELECT channel, name, value, sum FROM mvds_row WHERE channel = ? ORDER BY place"
_COLUMNS: Final = "channel, message_id, group_id, timestamp, body, metadata, peer, received_at, gap"
_KEEP: Final = f"INSERT INTO mvds_message ({_COLUMNS}, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LOAD: Final = f"SELECT {_COLUMNS}, sum FROM mvds_message WHERE channel = ? AND message_id = ?"


class MvdsStore:
    """The engine of one channel: its `MessageArchive` and its `Snapshot`."""

    def __init__(self, store: Store, channel: str) -> None:
        self._store = store
        self._channel = channel

    def holds(self, message_id: bytes) -> bool:
        return self.load(message_id) is not None

    def load(self, message_id: bytes) -> Message | None:
        """Return a message; None if it is absent or was altered by the disk: then its sender still has it."""
        rows = self._store.rows(self._channel, _LOAD, message_id.hex())
        if not rows or row_sum(rows[0][:-1]) != rows[0][-1]:
            return None
        _, _, group_id, timestamp, body, metadata, *_ = rows[0]
        return Message(group_id, timestamp, body, _metadata_from(json.loads(metadata)))

    def snapshot(self) -> Snapshot:
        """Return the saved rows. Altered rows are left out: their messages are requested, or offered, again."""
        found: dict[PeerTable, list[Any]] = {table: [] for table in PeerTable}
        for row in self._store.rows(self._channel, _ROWS):
            if row_sum(row[:-1]) == row[-1]:
                table = PeerTable(row[1].partition("/")[0])
                found[table].append(_row_from(table, json.loads(row[2])))
        names = {row.peer for row in found[PeerTable.PEER]}
        groups = [row for row in found[PeerTable.GROUP] if names.issuperset(row.members)]
        records = [row for row in found[PeerTable.RECORD] if row.peer in names]
        return Snapshot(
            tuple(records),
            tuple(found[PeerTable.PEER]),
            tuple(groups),
            tuple(found[PeerTable.HEADS]),
            tuple(found[PeerTable.WAITING]),
            tuple(found[PeerTable.AHEAD]),
        )

    def save(self, transaction: Transaction, writes: Sequence[Write]) -> None:
        """Apply the writes of one step with the transaction."""
        transaction.also(self._channel, lambda connection, number: _write(connection, number, writes))


def _write(connection: sqlite3.Connection, number: int, writes: Iterable[Write]) -> None:
    for write in writes:
        match write:
            case Keep(row):
                values = (number, *_message_values(row))
                connection.execute(_KEEP, (*values, row_sum(values)))
            case Put(table, key, row):
                put = (number, f"{table}/{key}", dump_plain(row))
                connection.execute(_PUT, (*put, row_sum(put)))
            case Drop(table, key):
                connection.execute(_DROP, (number, f"{table}/{key}"))


def _message_values(row: MessageRow) -> tuple[Any, ...]:
    message = row.message
    return (
        row.message_id.hex(),
        message.group_id,
        message.timestamp,
        message.body,
        dump_plain(message.metadata),
        row.peer,
        row.received_at,
        dump_plain(row.gap),
    )


def _metadata_from(values: Any) -> Metadata | None:
    return None if values is None else Metadata(tuple(map(bytes.fromhex, values[0])), values[1])


def _row_from(table: PeerTable, values: Any) -> Row:
    match table:
        case PeerTable.RECORD:
            peer, message_id, group_id, kind, *rest = values
            return RecordRow(peer, bytes.fromhex(message_id), bytes.fromhex(group_id), RecordType(kind), *rest)
        case PeerTable.PEER:
            peer, mode, online, last, forwarded, cursor = values
            at = None if cursor is None else (cursor[0], bytes.fromhex(cursor[1]))
            return PeerRow(peer, None if mode is None else Mode(mode), online, last, forwarded, at)
        case PeerTable.GROUP:
            return GroupRow(bytes.fromhex(values[0]), tuple(values[1]))
        case PeerTable.HEADS:
            heads = tuple(Head(bytes.fromhex(message_id), timestamp) for message_id, timestamp in values[1])
            return HeadsRow(bytes.fromhex(values[0]), heads)
        case PeerTable.WAITING:
            message_id, (group_id, timestamp, body, metadata), peer, missing, gap, give_up = values
            message = Message(bytes.fromhex(group_id), timestamp, bytes.fromhex(body), _metadata_from(metadata))
            waits, gone = (tuple(map(bytes.fromhex, some)) for some in (missing, gap))
            return WaitingRow(bytes.fromhex(message_id), message, peer, waits, gone, give_up)
        case PeerTable.AHEAD:
            return AheadRow(bytes.fromhex(values[0]))
