"""Positions of messages in a log: for scroll bars, and for jumps.

Up to some ten thousand messages they are counted. In a longer log that would take too long: there the number of a
message in the order of arrival is the estimate, which costs one search in an index. It is wrong for messages that came
long after they were written, such as what a newcomer fetched.

They are counted from the newest message, which those in view are mostly near. What was dropped counts as older than all
that is here.
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
_PLACE: Final = "SELECT place, lamport, message_id FROM log WHERE channel = ? AND message_id = ?"
_NEWER: Final = "SELECT count(*) FROM log WHERE channel = ? AND (lamport, message_id) > (?, ?)"
_BACK: Final = (
    "SELECT lamport, message_id FROM log WHERE channel = ? ORDER BY lamport DESC, message_id DESC LIMIT 1 OFFSET ?"
)
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
        """Return the rank of a message; 0 if there is no such message."""
        number, count = self._number(channel), self.count(channel)
        found = self._one(_PLACE, number, message_id)
        if found is None:
            return 0
        if count > self._counted:
            return int(found[0]) - first_place(number)
        newer = self._one(_NEWER, number, *found[1:])
        return count - (0 if newer is None else int(newer[0]))

    def at_rank(self, channel: str, rank: int) -> Key | None:
        """Return the message with this rank, or the oldest one."""
        number, count = self._number(channel), self.count(channel)
        if count > self._counted:
            found = self._one(_NEAR, first_place(number) + max(1, rank), last_place(number))
        elif rank > count:
            found = None
        else:
            found = self._one(_BACK, number, count - max(1, rank)) or self._one(_DATED, number, 0)
        return None if found is None else (found[0], found[1])

    def dated(self, channel: str, lamport: int) -> Key | None:
        """Return the first message of the log dated at `lamport` or later."""
        found = self._one(_DATED, self._number(channel), lamport)
        return None if found is None else (found[0], found[1])

    def _number(self, channel: str) -> int:
        found = self._one("SELECT id FROM channel WHERE name = ?", channel)
        return -1 if found is None else int(found[0])

    def _one(self, query: str, *values: int | str) -> tuple[Any, ...] | None:
        with as_store_error(self._reader.path):
            found: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        return found
