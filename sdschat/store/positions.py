"""Positions of messages in a log: for scroll bars, and for jumps.

Up to some ten thousand messages they are counted. In a longer log that would take too long: there the number of a
message in the order of arrival is the estimate, which costs one search in an index. It is wrong for messages that came
long after they were written, such as what a newcomer fetched.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from sdschat.store.channel_table import load_tallies
from sdschat.store.display_rows import Key
from sdschat.store.errors import as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.reader import Reader

COUNTED: Final = 50_000  # messages that are counted: about 5 ms
_RANK: Final = (
    "SELECT count(*) FROM log WHERE channel = ?1 AND (lamport, message_id) <= "
    "(SELECT lamport, message_id FROM log WHERE channel = ?1 AND message_id = ?2)"
)
_AT_RANK: Final = "SELECT lamport, message_id FROM log WHERE channel = ? ORDER BY lamport, message_id LIMIT 1 OFFSET ?"
_PLACE: Final = "SELECT place FROM log WHERE channel = ? AND message_id = ?"
_NEAR: Final = "SELECT lamport, message_id FROM log WHERE place BETWEEN ? AND ? ORDER BY place LIMIT 1"
_DATED: Final = (
    "SELECT lamport, message_id FROM log WHERE channel = ? AND lamport >= ? ORDER BY lamport, message_id LIMIT 1"
)


class Positions:
    """Positions in the channels of one reader. The rank of the oldest message is 1."""

    def __init__(self, reader: Reader, counted: int = COUNTED) -> None:
        """`counted`: the ranks of a longer log are estimates."""
        self._reader = reader
        self._counted = counted
        self._connection: sqlite3.Connection = reader.connection

    def count(self, channel: str) -> int:
        with as_store_error(self._reader.path):
            tally = load_tallies(self._connection, self._reader.path).get(channel)
        return 0 if tally is None else tally.messages

    def rank(self, channel: str, message_id: str) -> int:
        """Rank of a message; 0 if there is no such message."""
        number = self._number(channel)
        if self.count(channel) <= self._counted:
            counted = self._one(_RANK, number, message_id)
            return 0 if counted is None else int(counted[0])
        found = self._one(_PLACE, number, message_id)
        return 0 if found is None else int(found[0]) - first_place(number)

    def at_rank(self, channel: str, rank: int) -> Key | None:
        """The message with this rank."""
        number = self._number(channel)
        if self.count(channel) <= self._counted:
            counted = self._one(_AT_RANK, number, max(1, rank) - 1)
            return None if counted is None else (counted[0], counted[1])
        found = self._one(_NEAR, first_place(number) + max(1, rank), last_place(number))
        return None if found is None else (found[0], found[1])

    def dated(self, channel: str, lamport: int) -> Key | None:
        """The first message of the log dated at `lamport` or later."""
        found = self._one(_DATED, self._number(channel), lamport)
        return None if found is None else (found[0], found[1])

    def _number(self, channel: str) -> int:
        found = self._one("SELECT id FROM channel WHERE name = ?", channel)
        return -1 if found is None else int(found[0])

    def _one(self, query: str, *values: int | str) -> tuple[Any, ...] | None:
        with as_store_error(self._reader.path):
            found: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        return found
