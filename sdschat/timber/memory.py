"""A store in memory in place of a database, for the simulator and the tests."""

from __future__ import annotations

from collections.abc import Iterable

from sdschat.timber.rows import (
    CompactionRow,
    DraftRow,
    Key,
    OperationRow,
    OutboxRow,
    OwnRow,
    Put,
    ReplicaTable,
    Row,
    Snapshot,
    Write,
)
from sdschat.timber.values import AuthorRow, Post, SlotRow


class MemoryStore:
    """Rows once all writes so far are applied."""

    def __init__(self) -> None:
        self.rows: dict[tuple[ReplicaTable, Key], Row] = {}

    def apply(self, writes: Iterable[Write]) -> None:
        for write in writes:
            if isinstance(write, Put):
                self.rows[(write.table, write.key)] = write.row
            else:
                self.rows.pop((write.table, write.key), None)

    def snapshot(self) -> Snapshot:
        rows = self.rows.values()
        return Snapshot(
            next((row for row in rows if isinstance(row, CompactionRow)), None),
            tuple(sorted(row for row in rows if isinstance(row, OwnRow))),
            tuple(sorted((row for row in rows if isinstance(row, SlotRow)), key=lambda row: row.number)),
            tuple(sorted(row for row in rows if isinstance(row, AuthorRow))),
            tuple(sorted((row for row in rows if isinstance(row, Post)), key=lambda row: row.place)),
            tuple(sorted((row for row in rows if isinstance(row, OperationRow)), key=lambda row: row.arrival)),
            tuple(sorted(row for row in rows if isinstance(row, OutboxRow))),
            tuple(sorted((row for row in rows if isinstance(row, DraftRow)), key=lambda row: row.number)),
        )
