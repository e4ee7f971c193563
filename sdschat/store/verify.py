"""Detection and repair of rows that the disk altered.

Indexes are made again from their tables, the full-text index from the texts, a row of the log from its packet. A
message of others with an altered packet is deleted, so that it is fetched again. A database that cannot be repaired is
refused as a whole, because a wrong history is worse than none.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any, Final

from sdschat.sds.values import Codec, Entry, LogRow, Message
from sdschat.store.channel_table import CHANNEL_REPLACE, ChannelTally, count_again, load_tallies
from sdschat.store.columns import LOG_COLUMNS, RowAltered, body_sum, log_entry, log_values, row_sum
from sdschat.store.errors import StoreDamaged
from sdschat.store.retention_floor import floor_of
from sdschat.store.schema import PLACE_BITS
from sdschat.store.snapshot import Loss
from sdschat.store.user_state import UserState

CHECKED_BYTES: Final = 16 * 1024 * 1024  # a database up to this size is checked as a whole at every opening

_SMALL_TABLES: Final = (
    "channel",
    "channel_state",
    "held",
    "missing",
    "gap",
    "answer",
    "push",
    "peer",
    "hint",
    "read_mark",
    "draft",
    "key_met",
    "nick_held",
    "standing",
    "setting",
    "boot",
    "rejection",
    "range_bucket",
    "mvds_row",
    "mvds_message",
    "direct",
    "timber_row",
    "timber_post",
    "timber_operation",
)
_LOG: Final = (
    f"SELECT {', '.join('log.' + name for name in LOG_COLUMNS.split(', '))}, body.raw, body.sum, text.nick, "
    "text.text, text.verdict, text.sent_at, text.sum "
    "FROM log LEFT JOIN body USING (place) LEFT JOIN text USING (place) ORDER BY place"
)
_LOG_UPDATE: Final = f"UPDATE log SET ({LOG_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE place = ?"
_ROW_NOT_INDEXED: Final = re.compile(r"row \d+ missing from index (\w+)$")
_WRONG_COUNT: Final = re.compile(r"wrong # of entries in index (\w+)$")


def mend_on_opening(connection: sqlite3.Connection, path: Path, codec: Codec, thorough: bool | None) -> list[Loss]:
    """Check a small database as a whole, and the small tables of a large one. `thorough`: always as a whole."""
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if thorough or (thorough is None and pages * size <= CHECKED_BYTES):
        return mend(connection, path, codec)
    for table in _SMALL_TABLES:
        _refuse(path, _problems(connection, f"quick_check({table})"))
    return []


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Read every page. Raises `StoreDamaged` if one is damaged."""
    _refuse(path, _problems(connection, "quick_check"))


def mend(connection: sqlite3.Connection, path: Path, codec: Codec) -> list[Loss]:
    """Check everything, repair it and return the losses. Raises `StoreDamaged` if it cannot be repaired."""
    problems = _problems(connection, "integrity_check")
    if problems:
        if not _only_indexes(problems):
            _refuse(path, problems)
        connection.execute("REINDEX")
        _refuse(path, _problems(connection, "integrity_check"))
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _mend_log(connection, path, codec)
        found += _drop_strays(connection)
        _mend_search(connection, rebuild=bool(found))
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return found


def _problems(connection: sqlite3.Connection, pragma: str) -> list[str]:
    return [text for (text,) in connection.execute(f"PRAGMA {pragma}").fetchall() if text != "ok"]


def _refuse(path: Path, problems: list[str]) -> None:
    if problems:
        raise StoreDamaged(path, problems[0].splitlines()[-1])


def _only_indexes(problems: list[str]) -> bool:
    """True if the tables are intact. An index with too many entries means that its table lost rows."""
    lacking = {match[1] for text in problems if (match := _ROW_NOT_INDEXED.search(text))}
    counts = {match[1] for text in problems if (match := _WRONG_COUNT.search(text))}
    other = [text for text in problems if not (_ROW_NOT_INDEXED.search(text) or _WRONG_COUNT.search(text))]
    return not other and counts <= lacking


def _mend_log(connection: sqlite3.Connection, path: Path, codec: Codec) -> list[Loss]:
    tallies = {tally.number: tally for tally in load_tallies(connection, path).values()}
    values = UserState(connection, path)
    floors = {number: floor_of(values, tally.name).lamport for number, tally in tallies.items()}
    found: list[Loss] = []
    for row in connection.execute(_LOG).fetchall():
        number = row[0] >> PLACE_BITS  # the column may be altered
        tally = tallies.get(number)
        if not _was_dropped(row, floors.get(number, 0)):
            found += _mend_row(connection, codec, "" if tally is None else tally.name, row[:11], row[11:13], row[13:])
    for tally in tallies.values():
        found += _mend_tally(connection, tally, explained=bool(found))
    return found


def _drop_strays(connection: sqlite3.Connection) -> list[Loss]:
    """Delete rows that belong to nothing: nobody would ever read one whose channel was altered."""
    found = connection.execute("PRAGMA foreign_key_check").fetchall()
    strays = Counter((table, parent, key) for table, _, parent, key in found)
    for table, parent, key in strays:
        own, theirs = connection.execute(
            'SELECT "from", "to" FROM pragma_foreign_key_list(?) WHERE id = ?', (table, key)
        ).fetchone()
        connection.execute(f"DELETE FROM {table} WHERE {own} NOT IN (SELECT {theirs} FROM {parent})")
    return [
        Loss("", f"{count} of table {table} belonged to no {parent}") for (table, parent, _), count in strays.items()
    ]


def _was_dropped(row: Any, floor: int) -> bool:
    """True if an intact entry has no packet because the packet was too old to be kept, or exceeded what is kept."""
    try:
        entry = log_entry(row[:11])
        return row[11] is None and not row[7] and (entry.lamport < floor or entry.bare)
    except RowAltered:
        return False


def _mend_row(connection: sqlite3.Connection, codec: Codec, channel: str, row: Any, body: Any, text: Any) -> list[Loss]:
    """Check one message: its row, packet and text against their checksums, and the packet against the row."""
    place = row[0]
    try:
        entry = log_entry(row)
    except RowAltered:
        return _from_packet(connection, codec, channel, row, body)
    raw, checksum = body
    if raw is None or body_sum(entry.message_id, raw) != checksum or not _matches(codec, raw, entry):
        table, what = ("log", "to be fetched again") if not row[7] else ("body", "its packet cannot be sent again")
        connection.execute(f"DELETE FROM {table} WHERE place = ?", (place,))
        return [Loss(channel, f"a message was altered: {what}", entry.message_id)]
    if text[-1] is not None and row_sum((entry.message_id, place, *text[:-1])) != text[-1]:
        connection.execute("DELETE FROM text WHERE place = ?", (place,))
        return [Loss(channel, "a text was altered: to be read from its packet again", entry.message_id)]
    return []


def _matches(codec: Codec, raw: bytes, entry: Entry) -> bool:
    """True if a packet is that of an entry, or cannot be decoded: the decoder's limits may have changed since."""
    message = codec.decode(raw)
    if not isinstance(message, Message):
        return True
    return (message.message_id, message.sender_id, message.lamport_timestamp) == (
        entry.message_id,
        entry.sender_id,
        entry.lamport,
    )


def _from_packet(connection: sqlite3.Connection, codec: Codec, channel: str, row: Any, body: Any) -> list[Loss]:
    """Make an altered row of the log again from the packet of its message, or delete it."""
    place, raw = row[0], body[0]
    message = codec.decode(raw) if raw is not None else None
    if not isinstance(message, Message) or body_sum(message.message_id, raw) != body[1]:
        connection.execute("DELETE FROM log WHERE place = ?", (place,))
        return [Loss(channel, "a message and its packet were altered: to be fetched again")]
    lamport = message.lamport_timestamp or 0
    dependencies = tuple(entry.message_id for entry in message.causal_history)
    # Columns that are not in the packet stay as they are: a wrong value costs a bit of a filter or a word on screen.
    generation, own, via, received_at = row[6:10]
    entry = Entry(lamport, message.message_id, message.sender_id, dependencies, generation)
    made = log_values(place, place >> PLACE_BITS, LogRow(entry, raw, bool(own), via, received_at))
    connection.execute(_LOG_UPDATE, (*made, place))
    return [Loss(channel, "an entry of the log was altered: made again from its packet", message.message_id)]


def _mend_tally(connection: sqlite3.Connection, tally: ChannelTally, explained: bool) -> list[Loss]:
    counted = count_again(connection, tally)
    if counted == tally:
        return []
    connection.execute(CHANNEL_REPLACE, counted.values())
    if explained:
        return []
    return [Loss(tally.name, f"{tally.messages} messages were saved and {counted.messages} are there")]


def _mend_search(connection: sqlite3.Connection, rebuild: bool) -> None:
    """Make the full-text index again if it differs from the texts."""
    try:
        connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError:
        rebuild = True
    if rebuild:
        connection.execute("INSERT INTO search (search) VALUES ('rebuild')")
