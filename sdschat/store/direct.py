"""Direct messages as a person sees them: what was said, to or by whom, and what is known of its delivery."""

from __future__ import annotations

import sqlite3
from typing import Any, Final, NamedTuple

from sdschat.store.errors import told_plainly
from sdschat.store.store import Store
from sdschat.store.sums import row_sum
from sdschat.store.transaction import Transaction

_COLUMNS: Final = "channel, message_id, peer, own, nick, text, kind, sent_at, received_at, state, reply_to, verdict"
_PUT: Final = f"INSERT OR REPLACE INTO direct ({_COLUMNS}, sum) VALUES ({', '.join('?' * 13)})"
_WITH: Final = (
    f"SELECT {_COLUMNS}, sum FROM direct WHERE channel = ? AND (? = '' OR peer = ?) ORDER BY place DESC LIMIT ?"
)
_ONE: Final = f"SELECT {_COLUMNS}, sum FROM direct WHERE channel = ? AND message_id = ?"


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


class DirectMessages:
    """Of one channel."""

    def __init__(self, store: Store, channel: str) -> None:
        self._store = store
        self._channel = channel

    def put(self, transaction: Transaction, row: DirectRow) -> None:
        def write(connection: sqlite3.Connection, number: int) -> None:
            values = (number, *(int(value) if isinstance(value, bool) else value for value in row))
            connection.execute(_PUT, (*values, row_sum(values)))

        transaction.also(self._channel, write)

    def newest(self, peer: str = "", limit: int = 100) -> list[DirectRow]:
        """The last ones with somebody, or with anybody; oldest first. Rows that the disk has altered are left out."""
        found = self._ask(_WITH, peer, peer, limit)
        return [_row(values) for values in reversed(found) if row_sum(values[:-1]) == values[-1]]

    def one(self, message_id: str) -> DirectRow | None:
        found = self._ask(_ONE, message_id)
        return _row(found[0]) if found and row_sum(found[0][:-1]) == found[0][-1] else None

    def _ask(self, query: str, *values: str | int) -> list[Any]:
        number = self._store.number(self._channel)
        with told_plainly(self._store.path):
            return self._store.connection.execute(query, (number, *values)).fetchall()


def _row(values: Any) -> DirectRow:
    row = DirectRow(*values[1:-1])
    return row._replace(own=bool(row.own))
