"""A very long archive, made in minutes: rows first, indexes afterwards, and the sums as the store would have them.

The messages have ids, dates and packets of the usual size; but for their ids the packets are all the same.
"""

from __future__ import annotations

import os
import sqlite3
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from sdschat.sds.values import Append, Entry, HistoryEntry, LogRow, Message, Put, Table
from sdschat.store.channel_table import CHANNEL_REPLACE, ChannelTally
from sdschat.store.columns import BODY_INSERT, LOG_INSERT, body_sum, log_values
from sdschat.store.history import first_place
from sdschat.store.store import Store
from sdschat.wire.sds_codec import SdsCodec
from tests.store.samples import state_row

_CODEC: Final = SdsCodec()
_MARK: Final = "x" * 64
_STEP: Final = 50_000


def fill_in_bulk(path: Path, channel: str, count: int, started: int, filter_bytes: bytes) -> None:
    """One message a second from `started` on."""
    first = Message("0" * 32, "0" * 64, channel, started, (), None, (), b"the first one")
    entry = Entry(started, first.message_id, first.sender_id)
    with Store.open(path, _CODEC) as store:
        row = LogRow(entry, _CODEC.encode(first), False, "live", started)
        store.commit([(channel, [Append(row), Put(Table.CHANNEL, "", state_row(started))])])
        number = store.number(channel)
        assert number is not None
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("synchronous = OFF", "cache_size = -262144", "temp_store = FILE", "wal_autocheckpoint = 20000"):
        connection.execute(f"PRAGMA {pragma}")
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'log' AND sql NOT NULL"
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    fingerprint = _rows(connection, channel, number, count, started, filter_bytes, entry)
    for _, sql in indexes:
        connection.execute(sql)
    newest = started + (count - 1) * 1000
    connection.execute(CHANNEL_REPLACE, ChannelTally(number, channel, count, newest, fingerprint).values())
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _rows(
    connection: sqlite3.Connection,
    channel: str,
    number: int,
    count: int,
    started: int,
    filter_bytes: bytes,
    first: Entry,
) -> int:
    deps = tuple(HistoryEntry("d" * 64, None, "0" * 32) for _ in range(2))
    template = _CODEC.encode(
        Message("0" * 32, _MARK, channel, started, deps, filter_bytes, (), b"SDC1" + bytes(200))
    ).partition(_MARK.encode())
    fingerprint = _place(first.lamport, first.message_id)
    names = tuple(entry.message_id for entry in deps)
    for start in range(1, count, _STEP):
        log: list[Any] = []
        bodies: list[Any] = []
        for at in range(start, min(start + _STEP, count)):
            message_id, lamport, place = os.urandom(32).hex(), started + at * 1000, first_place(number) + 1 + at
            raw = message_id.encode().join((template[0], template[2]))
            row = LogRow(Entry(lamport, message_id, f"{at % 50:032x}", names), raw, False, "live", lamport)
            log.append(log_values(place, number, row))
            bodies.append((place, raw, body_sum(message_id, raw)))
            fingerprint ^= _place(lamport, message_id)
        connection.execute("BEGIN")
        connection.executemany(LOG_INSERT, log)
        connection.executemany(BODY_INSERT, bodies)
        connection.execute("COMMIT")
    return fingerprint


def _place(lamport: int, message_id: str) -> int:
    """As `journal.fingerprint_step`."""
    place = lamport.to_bytes(8, "big") + message_id.encode()
    return int.from_bytes(blake2b(place, digest_size=16).digest(), "big")
