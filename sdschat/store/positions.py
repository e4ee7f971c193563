"""Approximate positions of messages in a long log, without counting: for scroll bars, and for jumps.

Places of a channel are numbered in order of arrival, which is nearly the order of the log. So the number of a message
is a good estimate of its position, and costs one search in an index for a log of any length.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from sdschat.store.channel_table import load_tallies
from sdschat.store.display_rows import Key
from sdschat.store.errors import as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.reader import Reader

_PLACE: Final = "SELECT place FROM log WHERE channel = ? AND message_id = ?"
_NEAR: Final = "SELECT lamport, message_id FROM log WHERE place BETWEEN ? AND ? ORDER BY place LIMIT 1"
_DATED: Final = (
    "SELECT lamport, message_id FROM log WHERE channel = ? AND lamport >= ? ORDER BY lamport, message_id LIMIT 1"
)


class Positions:
    """Estimated positions in the channels of one reader. A rank is 1 for the message that came first."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._connection: sqlite3.Connection = reader.connection

    def count(self, channel: str) -> int:
        with as_store_error(self._reader.path):
            tally = load_tallies(self._connection, self._reader.path).get(channel)
        return 0 if tally is None else tally.messages

    def rank(self, channel: str, message_id: str) -> int:
        """Rank of a message; 0 if there is no such message."""
        number = self._number(channel)
        found = self._one(_PLACE, number, message_id)
        return 0 if found is None else found[0] - first_place(number)

    def at_rank(self, channel: str, rank: int) -> Key | None:
        """The message that came as number `rank`."""
        number = self._number(channel)
        found = self._one(_NEAR, first_place(number) + max(1, rank), last_place(number))
        return None if found is None else (found[0], found[1])

    def dated(self, channel: str, lamport: int) -> Key | None:
        """The first message of the log dated at `lamport` or later."""
        found = self._one(_DATED, self._number(channel), lamport)
        return None if found is None else (found[0], found[1])

    def _number(self, channel: str) -> int:
        found = self._one("SELECT id FROM channel WHERE name = ?", channel)
        return -1 if found is None else int(found[0])

    def _one(self, query: str, *values: int | str) -> tuple[int, str] | None:
        with as_store_error(self._reader.path):
            found: tuple[int, str] | None = self._connection.execute(query, values).fetchone()
        return found
