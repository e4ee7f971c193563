"""Rows of direct messages, for the node and for readers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sdschat.store.columns import row_sum

COLUMNS: Final = "channel, message_id, peer, own, nick, text, kind, sent_at, received_at, state, reply_to, verdict"
# Parents that the message was delivered without and that have not come since, out of the rows of the protocol.
_GAP: Final = (
    "(SELECT group_concat(parent.value, ' ') FROM mvds_message AS child, "
    "json_each(CASE WHEN json_valid(child.gap) THEN child.gap ELSE '[]' END) AS parent "
    "WHERE child.channel = direct.channel AND child.message_id = direct.message_id AND NOT EXISTS "
    "(SELECT 1 FROM mvds_message AS came WHERE came.channel = child.channel AND came.message_id = parent.value))"
)
READ: Final = f"{COLUMNS}, {_GAP}, sum"
_AFTER: Final = f"SELECT place, {READ} FROM direct WHERE channel = ? AND place > ? ORDER BY place"


class DirectRow(NamedTuple):
    """One direct message, our own or received. Times are epoch milliseconds."""

    message_id: str
    peer: str  # participant id of the other one
    own: bool
    nick: str  # of the author
    text: str
    kind: int
    sent_at: int
    received_at: int
    state: int  # 0: not acknowledged; 2: acknowledged by the reader
    reply_to: str  # message id, or ""
    verdict: str
    gap: tuple[str, ...] = ()  # messages that were given up before it; not a column of its own


def sound_row(values: Any) -> DirectRow | None:
    """The row of what `READ` selects; None if the disk has altered it."""
    *columns, gap, checksum = values
    if row_sum(columns) != checksum:
        return None
    row = DirectRow(*columns[1:])
    return row._replace(own=bool(row.own), gap=tuple((gap or "").split()))


def rows_after(connection: sqlite3.Connection, number: int, place: int) -> Iterator[tuple[int, DirectRow]]:
    """The rows of a channel after a place, each with its own place, in order of arrival."""
    for at, *values in connection.execute(_AFTER, (number, place)):
        row = sound_row(values)
        if row is not None:
            yield at, row
