"""The channels of a profile: their numbers, and counts and fingerprints of their logs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.store.columns import row_sum
from sdschat.store.errors import StoreDamaged
from sdschat.store.history import first_place, last_place
from sdschat.store.journal import FINGERPRINT_BYTES, fingerprint_step

CHANNEL_REPLACE: Final = (
    "INSERT INTO channel (id, name, messages, newest, fingerprint, sum) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET messages = excluded.messages, newest = excluded.newest, "
    "fingerprint = excluded.fingerprint, sum = excluded.sum"
)

_KEYS: Final = (
    "SELECT lamport, message_id FROM log WHERE channel = ? "
    "UNION ALL SELECT lamport, lower(hex(message_id)) FROM past WHERE channel = ?"
)

_HIGHEST: Final = (
    "SELECT max(lamport) FROM (SELECT max(lamport) AS lamport FROM log WHERE channel = ? "
    "UNION ALL SELECT max(lamport) FROM past WHERE channel = ?)"
)

_LAST: Final = (
    "SELECT max(place) FROM (SELECT max(place) AS place FROM log WHERE place BETWEEN ? AND ? "
    "UNION ALL SELECT max(place) FROM past WHERE place BETWEEN ? AND ?)"
)


class ChannelTally(NamedTuple):
    """One channel with its counts, updated with every message."""

    number: int  # from 1; the upper part of the places of its messages
    name: str
    messages: int = 0  # in the log, those without a packet too
    newest: int = 0  # the highest Lamport time
    fingerprint: int = 0  # of all (Lamport, id) in the log; see `journal.fingerprint_step`
    last_place: int = 0  # place of the message added last; 0: none

    def with_message(self, lamport: int, message_id: str) -> ChannelTally:
        place = (self.last_place or first_place(self.number)) + 1
        fingerprint = fingerprint_step(self.fingerprint, lamport, message_id)
        return ChannelTally(self.number, self.name, self.messages + 1, max(self.newest, lamport), fingerprint, place)

    def without(self, keys: Iterable[tuple[int, str]]) -> ChannelTally:
        """Return the tally without these messages. Fingerprints are sums by exclusive or."""
        messages, fingerprint = self.messages, self.fingerprint
        for lamport, message_id in keys:
            messages -= 1
            fingerprint = fingerprint_step(fingerprint, lamport, message_id)
        return self._replace(messages=messages, fingerprint=fingerprint)

    def values(self) -> tuple[int | str | bytes, ...]:
        fingerprint = self.fingerprint.to_bytes(FINGERPRINT_BYTES, "big")
        values = (self.number, self.name, self.messages, self.newest, fingerprint)
        return (*values, row_sum(values))


def load_tallies(connection: sqlite3.Connection, path: Path) -> dict[str, ChannelTally]:
    """Return all channels. Raises `StoreDamaged` if a row was altered: the name of a log is then unknown."""
    found: dict[str, ChannelTally] = {}
    for row in connection.execute("SELECT id, name, messages, newest, fingerprint, sum FROM channel").fetchall():
        if row_sum(row[:-1]) != row[-1]:
            raise StoreDamaged(path, f"the row of channel number {row[0]} does not match its checksum")
        number, name, messages, newest, fingerprint, _ = row
        bounds = (first_place(number), last_place(number))
        last = connection.execute(_LAST, (*bounds, *bounds)).fetchone()[0]
        found[name] = ChannelTally(number, name, messages, newest, int.from_bytes(fingerprint, "big"), last or 0)
    return found


def newest_again(connection: sqlite3.Connection, tally: ChannelTally) -> ChannelTally:
    """Return the tally with the highest Lamport time of the log, which may have lost its newest message."""
    return tally._replace(newest=connection.execute(_HIGHEST, (tally.number, tally.number)).fetchone()[0] or 0)


def count_again(connection: sqlite3.Connection, tally: ChannelTally) -> ChannelTally:
    """Return the tally counted from the log itself, in time proportional to its length."""
    fresh = ChannelTally(tally.number, tally.name)
    messages, newest, fingerprint = 0, 0, 0
    for lamport, message_id in connection.execute(_KEYS, (tally.number, tally.number)):
        messages += 1
        newest = max(newest, lamport)
        fingerprint = fingerprint_step(fingerprint, lamport, message_id)
    return fresh._replace(messages=messages, newest=newest, fingerprint=fingerprint, last_place=tally.last_place)
