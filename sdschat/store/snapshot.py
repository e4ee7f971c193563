"""The saved state of a channel's engine, without the log."""

from __future__ import annotations

import sqlite3
from typing import Any, Final, NamedTuple, TypeVar, cast

from sdschat.sds.limits import SETTLED_KEPT
from sdschat.sds.memory import keep_outgoing, possibly_acked_wanted
from sdschat.sds.values import (
    AckState,
    AnswerRow,
    ChannelRow,
    Codec,
    GapRow,
    HintRow,
    IncomingRow,
    MissingRow,
    OutgoingRow,
    PeerRow,
    PushRow,
    Row,
    Snapshot,
    Table,
)
from sdschat.store.columns import SHAPES, STATE_SELECT, RowAltered, body_sum, row_sum

RowType = TypeVar("RowType", bound=Row)

_UNACKED: Final = "WHERE channel = ? AND state = ? ORDER BY lamport, message_id"
_NEWEST: Final = "WHERE channel = ? AND state = ? ORDER BY lamport DESC, message_id DESC LIMIT ?"
_PACKET: Final = (
    "SELECT body.raw, body.sum FROM log JOIN body USING (place) WHERE log.channel = ? AND log.message_id = ?"
)
_OWN: Final = "SELECT message_id, lamport FROM log WHERE channel = ? AND own = 1"


class Loss(NamedTuple):
    """Something that was found altered, and its consequence."""

    channel: str  # empty if no row says any more to which it belonged
    what: str  # in words for the user
    message_id: str = ""

    def concerns(self, channel: str) -> bool:
        """True if this may be a loss of the channel."""
        return self.channel in ("", channel)


class Loader:
    """Reads one channel's buffers. Altered rows are left out and reported in `losses`: the content of all of them,
    except the channel's own row, comes again from others or only saves time."""

    def __init__(self, connection: sqlite3.Connection, codec: Codec, channel: str, number: int) -> None:
        self._connection = connection
        self._codec = codec
        self._channel = channel
        self._number = number
        self.losses: list[Loss] = []
        self._altered: list[tuple[str, int]] = []  # table and place of every altered row, to be deleted
        self._rebuilt: list[OutgoingRow] = []  # rows made anew, to be inserted

    def load(self) -> Snapshot | None:
        """Return the state; None if the channel was never opened. Raises `RowAltered` if the channel's own row was."""
        state = self._state()
        if state is None:
            return None
        return Snapshot(
            channel=state,
            incoming=self._rows(Table.INCOMING, IncomingRow),
            outgoing=self._outgoing(),
            missing=self._rows(Table.MISSING, MissingRow),
            gaps=self._rows(Table.GAP, GapRow),
            answers=self._rows(Table.ANSWER, AnswerRow),
            pushes=self._rows(Table.PUSH, PushRow),
            peers=self._rows(Table.PEER, PeerRow),
            hints=self._rows(Table.HINT, HintRow),
        )

    def _state(self) -> ChannelRow | None:
        rows = self._connection.execute(STATE_SELECT, (self._number,)).fetchall()
        if not rows:
            return None
        if row_sum(rows[0][:-1]) != rows[0][-1]:
            raise RowAltered("the state of the channel does not match its checksum")
        return ChannelRow(*rows[0][1:-1])

    def _rows(self, table: Table, kind: type[RowType]) -> tuple[RowType, ...]:
        query = f"{SHAPES[table].select} WHERE channel = ? ORDER BY place"
        return cast(tuple[RowType, ...], tuple(self._read(table, query, self._number)))

    def _outgoing(self) -> tuple[OutgoingRow, ...]:
        """Return the rows of all unacknowledged messages, and of the newest others. (The table keeps all of them.)"""
        select = SHAPES[Table.OUTGOING].select
        before = len(self._altered)
        rows = self._read(Table.OUTGOING, f"{select} {_UNACKED}", self._number, AckState.UNACKED)
        for state, count in ((AckState.POSSIBLY_ACKED, possibly_acked_wanted()), (AckState.ACKED, SETTLED_KEPT)):
            rows += self._read(Table.OUTGOING, f"{select} {_NEWEST}", self._number, state, count)
        if len(self._altered) > before:
            del self._altered[before:], self.losses[before:]
            rows = self._rebuild_outgoing()
        kept = keep_outgoing(cast(list[OutgoingRow], rows))
        return tuple(row for row in kept if not row.resent or self._has_packet(row.message_id))

    def _rebuild_outgoing(self) -> list[Row]:
        """Return all rows, with new ones in place of altered ones. The message of an altered row is not known, so every
        own message without an intact row counts as unacknowledged: sending it once more does no harm."""
        rows = self._read(Table.OUTGOING, f"{SHAPES[Table.OUTGOING].select} WHERE channel = ?", self._number)
        with_row = {cast(OutgoingRow, row).message_id for row in rows}
        for message_id, lamport in self._connection.execute(_OWN, (self._number,)):
            if message_id not in with_row:
                self._rebuilt.append(OutgoingRow(message_id, lamport, AckState.UNACKED, 1, 0, ()))
        return [*rows, *self._rebuilt]

    def _has_packet(self, message_id: str) -> bool:
        """True if the log has the intact packet of an own message, so that it can be sent again."""
        rows = self._connection.execute(_PACKET, (self._number, message_id)).fetchall()
        if rows and body_sum(message_id, rows[0][0]) == rows[0][1]:
            return True
        self.losses.append(Loss(self._channel, "an own message was altered and cannot be sent again", message_id))
        return False

    def _read(self, table: Table, query: str, *values: Any) -> list[Row]:
        found: list[Row] = []
        shape = SHAPES[table]
        for row in self._connection.execute(query, values):
            try:
                found.append(shape.row(row, self._codec))
            except RowAltered as error:
                self._altered.append((shape.table, row[0]))
                self.losses.append(Loss(self._channel, str(error)))
        return found

    def mend(self) -> None:
        """Delete the altered rows and insert those made anew. Only for the process that writes the database."""
        if not self._altered:
            return
        shape = SHAPES[Table.OUTGOING]
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for table, place in self._altered:
                self._connection.execute(f"DELETE FROM {table} WHERE place = ?", (place,))
            rows = [shape.values(self._number, row) for row in self._rebuilt]
            self._connection.executemany(shape.upsert, rows)
            self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
