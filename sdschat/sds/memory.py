"""A disk in memory: makes writes true and hands them back as a snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, cast

from sdschat.sds.history import MemoryHistory
from sdschat.sds.limits import POSSIBLY_ACKED_KEPT, RETIRED_KEPT, SETTLED_KEPT
from sdschat.sds.values import (
    AckState,
    AnswerRow,
    Append,
    ChannelRow,
    Drop,
    GapRow,
    HintRow,
    IncomingRow,
    MissingRow,
    OutgoingRow,
    PeerRow,
    PushRow,
    Put,
    Row,
    Snapshot,
    Table,
    Write,
)

RowType = TypeVar("RowType", bound=Row)


class MemoryStore:
    """A `Store` in memory instead of on disk: one channel, all writes of one step at once."""

    __slots__ = ("history", "tables")

    def __init__(self, bodies: int | None = None) -> None:
        self.history = MemoryHistory(bodies)
        self.tables: dict[Table, dict[str, Row]] = {table: {} for table in Table}

    def apply(self, writes: Iterable[Write]) -> None:
        for write in writes:
            if isinstance(write, Put):
                table, key, row = write
                self.tables[table][key] = row
                if table is Table.OUTGOING and cast(OutgoingRow, row).state is AckState.ACKED:
                    self.history.acknowledged(key)
            elif isinstance(write, Append):
                if write.instead_of is not None:
                    self.history.withdraw(write.instead_of)
                self.history.append(write.row)
            else:
                assert isinstance(write, Drop)
                self.tables[write.table].pop(write.key, None)

    def snapshot(self) -> Snapshot | None:
        """Return the rows on disk, or None if the channel was never opened here."""
        channel = self.tables[Table.CHANNEL].get("")
        if channel is None:
            return None
        return Snapshot(
            channel=cast(ChannelRow, channel),
            incoming=self._rows(Table.INCOMING, IncomingRow),
            outgoing=keep_outgoing(self._rows(Table.OUTGOING, OutgoingRow)),
            missing=self._rows(Table.MISSING, MissingRow),
            gaps=self._rows(Table.GAP, GapRow),
            answers=self._rows(Table.ANSWER, AnswerRow),
            pushes=self._rows(Table.PUSH, PushRow),
            peers=self._rows(Table.PEER, PeerRow),
            hints=self._rows(Table.HINT, HintRow),
        )

    def _rows(self, table: Table, kind: type[RowType]) -> tuple[RowType, ...]:
        return tuple(row for row in self.tables[table].values() if isinstance(row, kind))


def possibly_acked_wanted() -> int:
    """Return the number of newest rows of possibly acknowledged messages an engine wants back: those that it resends,
    those that left the buffer and are remembered, and one more, which says up to where they are forgotten."""
    return POSSIBLY_ACKED_KEPT + RETIRED_KEPT + 1


def keep_outgoing(rows: Iterable[OutgoingRow]) -> tuple[OutgoingRow, ...]:
    """Return the outgoing rows an engine wants back: all that is unacknowledged, and the newest of the rest."""
    every = sorted(rows, key=lambda row: (row.lamport, row.message_id))
    settled = [row for row in every if row.state is AckState.ACKED][-SETTLED_KEPT:]
    possibly = [row for row in every if row.state is AckState.POSSIBLY_ACKED][-possibly_acked_wanted() :]
    unacked = [row for row in every if row.state is AckState.UNACKED]
    return tuple(sorted(settled + possibly + unacked, key=lambda row: (row.lamport, row.message_id)))
