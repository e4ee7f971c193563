"""Rows of direct messages, for the node and for readers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sdschat.store.checksums import row_sum

COLUMNS: Final = "channel, message_id, peer, own, nick, text, kind, sent_at, received_at, state, reply_to, verdict"
_AFTER: Final = f"SELECT place, {COLUMNS}, sum FROM direct WHERE channel = ? AND place > ? ORDER BY place"


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


def sound_row(values: Any) -> DirectRow | None:
    """The row of these columns and their checksum; None if the disk has altered it."""
    if row_sum(values[:-1]) != values[-1]:
        return None
    row = DirectRow(*values[1:-1])
    return row._replace(own=bool(row.own))


def rows_after(connection: sqlite3.Connection, number: int, place: int) -> Iterator[tuple[int, DirectRow]]:
    """The rows of a channel after a place, each with its own place, in order of arrival."""
    for at, *values in connection.execute(_AFTER, (number, place)):
        row = sound_row(values)
        if row is not None:
            yield at, row
