"""A store in memory in place of a database, for the simulator and the tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdschat.timber.chat import Head
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
from sdschat.timber.values import AuthorRow, Post, PostId, SlotRow


class _LatePosts:
    """The posts among the rows as they are at the time; see `SavedPosts`."""

    def __init__(self, rows: dict[tuple[ReplicaTable, Key], Row]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Post]:
        return iter([row for row in self._rows.values() if isinstance(row, Post)])

    def get(self, name: PostId) -> Post | None:
        row = self._rows.get((ReplicaTable.POST, tuple(name)))
        return row if isinstance(row, Post) else None

    def heads(self) -> list[Head]:
        return [(post.place, *post.name, post.time, post.edit) for post in self]


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

    def snapshot(self, *, late: bool = False) -> Snapshot:
        """Return the rows. `late`: posts are read when they are asked for, as from a database."""
        if late:
            return self.snapshot()._replace(posts=(), saved=_LatePosts(self.rows))
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
