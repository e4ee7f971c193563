"""State of this user alone: drafts, read marks, known keys, small values of the node. Also read by `Reader`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Final, NamedTuple

from sdschat.store.columns import row_sum
from sdschat.store.display_rows import UNREAD_COUNTED
from sdschat.store.errors import StoreDamaged, as_store_error
from sdschat.store.history import last_place
from sdschat.store.query import NOT_HIDDEN, WITH_BODY

_NUMBER: Final = "SELECT id FROM channel WHERE name = ?"
_TIMBER_CHANNELS: Final = "SELECT name FROM channel WHERE id IN (SELECT channel FROM timber_row) ORDER BY name"
_DRAFT: Final = "SELECT channel, text, at, sum FROM draft WHERE channel = (SELECT id FROM channel WHERE name = ?)"
_MARK: Final = (
    "SELECT channel, lamport, message_id, place, at, sum FROM read_mark "
    "WHERE channel = (SELECT id FROM channel WHERE name = ?)"
)
_UNREAD: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM log WHERE place > ? AND place <= ? AND own = 0 "
    f"AND {WITH_BODY} AND {NOT_HIDDEN} LIMIT ?)"
)
_BELOW: Final = (
    "SELECT min(place) FROM log WHERE channel = (SELECT id FROM channel WHERE name = ?) "
    "AND (lamport, message_id) > (?, ?)"
)


class ReadMark(NamedTuple):
    """The position up to which the user has read. Messages that came after `place`, with any date, are unread."""

    lamport: int
    message_id: str
    place: int  # of the message that came last before the mark was set
    at: int  # epoch milliseconds


class UserState:
    """Reads this state. An altered row counts as absent, except rows of keys, nicks and settings: these raise
    StoreDamaged, because a nick must not pass to another key."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self._file = path

    def draft(self, channel: str) -> str:
        """Return the text of the input line, or ""."""
        rows = self._sound(_DRAFT, channel)
        return str(rows[0][1]) if rows else ""

    def read_mark(self, channel: str) -> ReadMark | None:
        rows = self._sound(_MARK, channel)
        return ReadMark(*rows[0][1:5]) if rows else None

    def unread(self, channel: str) -> int:
        """Return the number of messages of others that are shown and came since the read mark, late ones too; at most
        `UNREAD_COUNTED`."""
        with as_store_error(self._file):
            numbers = self.connection.execute(_NUMBER, (channel,)).fetchall()
            if not numbers:
                return 0
            mark = self.read_mark(channel)
            number: int = numbers[0][0]
            since = mark.place if mark is not None else last_place(number - 1)
            values = (since, last_place(number), UNREAD_COUNTED)
            count: int = self.connection.execute(_UNREAD, values).fetchone()[0]
        return count

    def first_below(self, channel: str, lamport: int, message_id: str) -> int | None:
        """Return the place of the message that came first of those below this one in the log; None if it is the
        last."""
        with as_store_error(self._file):
            return self.connection.execute(_BELOW, (channel, lamport, message_id)).fetchone()[0]  # type: ignore[no-any-return]

    def keys(self) -> list[tuple[bytes, str, int]]:
        """Return public key, nick and epoch milliseconds of the first contact, oldest first."""
        return self._all("SELECT public_key, nick, first_seen, sum FROM key_met ORDER BY first_seen, rowid")

    def nicks(self) -> list[tuple[str, str, bytes, int]]:
        """Return skeleton, nick, the key that holds it, and since when in epoch milliseconds; oldest first."""
        return self._all("SELECT skeleton, nick, public_key, since, sum FROM nick_held ORDER BY since, rowid")

    def standings(self) -> list[tuple[str, int, int]]:
        """Return sender id, standing, and since when in epoch milliseconds."""
        return self._all("SELECT sender_id, standing, since, sum FROM standing ORDER BY since, rowid")

    def value(self, name: str) -> bytes | None:
        """Return the value that `Transaction.set_value` saved, or None."""
        rows = self._all("SELECT name, value, sum FROM setting WHERE name = ?", name)
        return rows[0][1] if rows else None

    def has_channel(self, name: str) -> bool:
        """True if the database has a channel of this name."""
        with as_store_error(self._file):
            return bool(self.connection.execute(_NUMBER, (name,)).fetchall())

    def timber_channels(self) -> list[str]:
        """Return the names of the members' channels with saved rows."""
        with as_store_error(self._file):
            return [name for (name,) in self.connection.execute(_TIMBER_CHANNELS).fetchall()]

    def values(self, prefix: str) -> dict[str, bytes]:
        """Return the values whose names begin with the prefix."""
        query = "SELECT name, value, sum FROM setting WHERE name >= ? AND name < ? ORDER BY name"
        return dict(self._all(query, prefix, f"{prefix}\U0010ffff"))

    def _sound(self, query: str, *values: str) -> list[Any]:
        with as_store_error(self._file):
            rows = self.connection.execute(query, values).fetchall()
        return [row for row in rows if row_sum(row[:-1]) == row[-1]]

    def _all(self, query: str, *values: str) -> list[Any]:
        with as_store_error(self._file):
            rows = self.connection.execute(query, values).fetchall()
        for row in rows:
            if row_sum(row[:-1]) != row[-1]:
                raise StoreDamaged(self._file, "a row of keys, nicks or settings does not match its checksum")
        return [row[:-1] for row in rows]
