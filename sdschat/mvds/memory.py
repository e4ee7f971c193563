"""A store in memory in place of a database, for the simulator and the tests."""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.mvds.values import (
    AheadRow,
    Drop,
    GroupRow,
    HeadsRow,
    Keep,
    Message,
    MessageRow,
    PeerRow,
    PeerTable,
    Put,
    RecordRow,
    Row,
    Snapshot,
    WaitingRow,
    Write,
)


class MemoryStore:
    """Rows and messages once all writes so far are applied; a `MessageArchive`."""

    def __init__(self) -> None:
        self.messages: dict[bytes, MessageRow] = {}
        self.rows: dict[tuple[PeerTable, str], Row] = {}

    def holds(self, message_id: bytes) -> bool:
        return message_id in self.messages

    def load(self, message_id: bytes) -> Message | None:
        row = self.messages.get(message_id)
        return None if row is None else row.message

    def apply(self, writes: Iterable[Write]) -> None:
        for write in writes:
            match write:
                case Keep(row):
                    if row.message_id in self.messages:
                        raise ValueError(f"message {row.message_id.hex()} is kept twice")
                    self.messages[row.message_id] = row
                case Put(table, key, row):
                    self.rows[(table, key)] = row
                case Drop(table, key):
                    self.rows.pop((table, key), None)

    def snapshot(self) -> Snapshot:
        rows = self.rows.values()
        return Snapshot(
            records=tuple(sorted(row for row in rows if isinstance(row, RecordRow))),
            peers=tuple(sorted((row for row in rows if isinstance(row, PeerRow)), key=lambda row: row.peer)),
            groups=tuple(sorted(row for row in rows if isinstance(row, GroupRow))),
            heads=tuple(sorted(row for row in rows if isinstance(row, HeadsRow))),
            waiting=tuple(
                sorted((row for row in rows if isinstance(row, WaitingRow)), key=lambda row: row.message_id),
            ),
            ahead=tuple(sorted(row for row in rows if isinstance(row, AheadRow))),
        )
