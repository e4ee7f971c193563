"""Rows of direct messages: as a node keeps them, and as a reader finds them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sdschat.store.checksums import row_sum

COLUMNS: Final = "channel, message_id, peer, own, nick, text, kind, sent_at, received_at, state, reply_to, verdict"
_AFTER: Final = f"SELECT place, {COLUMNS}, sum FROM direct WHERE channel = ? AND place > ? ORDER BY place"


class DirectRow(NamedTuple):
    """`peer` is the other one; `nick` is the author's. `state`: 0 not yet with the other, 2 with the other."""

    message_id: str
    peer: str
    own: bool
    nick: str
    text: str
    kind: int
    sent_at: int
    received_at: int
    state: int
    reply_to: str
    verdict: str


def sound_row(values: Any) -> DirectRow | None:
    """The row of these columns and their checksum; None if the disk has altered it."""
    if row_sum(values[:-1]) != values[-1]:
        return None
    row = DirectRow(*values[1:-1])
    return row._replace(own=bool(row.own))


def rows_after(connection: sqlite3.Connection, number: int, place: int) -> Iterator[tuple[int, DirectRow]]:
    """The rows of a channel behind a place, with theirs, in the order in which they came."""
    for at, *values in connection.execute(_AFTER, (number, place)):
        row = sound_row(values)
        if row is not None:
            yield at, row
