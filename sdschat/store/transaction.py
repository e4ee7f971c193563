"""Changes that are committed together: collected first, then written, each table in one batch."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from sdschat.sds.values import Append, ChannelRow, Drop, Entry, LogRow, Put, Row, Table, Write
from sdschat.store import dropped_packets
from sdschat.store.channel_table import CHANNEL_REPLACE, ChannelTally, newest_again
from sdschat.store.columns import BODY_INSERT, LOG_INSERT, SHAPES, STATE_REPLACE, SqlRow, body_sum, log_values, row_sum
from sdschat.store.journal import JournalRow
from sdschat.store.journal_writer import JournalWriter
from sdschat.store.retention_floor import count_ids

if TYPE_CHECKING:
    from sdschat.store.ranges import Ranges


_TABLES: Final = ("timber_row", "timber_post", "timber_operation")


def rewrite_tables(connection: sqlite3.Connection) -> None:
    """Write the tables of members' channels anew, inside a transaction: deleted texts leave all files of the database.

    `secure_delete` overwrites what a statement deletes. It does not overwrite copies that SQLite left in unused parts
    of pages when it moved rows from one page to another. So the tables that hold such texts are written anew: their
    pages become free as a whole, which does overwrite them. The write-ahead log still has the old pages; it is cut
    after the commit (`Store.wipe`). The cost is that of writing what is alive.
    """
    for table in _TABLES:
        rows = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()
        connection.execute(f"DELETE FROM {table}")
        if rows:
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


_LOCAL: Final = {
    "draft": "INSERT OR REPLACE INTO draft (channel, text, at, sum) VALUES (?, ?, ?, ?)",
    "read_mark": "INSERT OR REPLACE INTO read_mark (channel, lamport, message_id, place, at, sum) "
    "VALUES (?, ?, ?, ?, ?, ?)",
    "key_met": "INSERT OR REPLACE INTO key_met (public_key, nick, first_seen, sum) VALUES (?, ?, ?, ?)",
    "nick_held": "INSERT OR REPLACE INTO nick_held (skeleton, nick, public_key, since, sum) VALUES (?, ?, ?, ?, ?)",
    "standing": "INSERT OR REPLACE INTO standing (sender_id, standing, since, sum) VALUES (?, ?, ?, ?)",
    "setting": "INSERT OR REPLACE INTO setting (name, value, sum) VALUES (?, ?, ?)",
}
_FORGET: Final = ("DELETE FROM key_met WHERE public_key = ?", "DELETE FROM nick_held WHERE public_key = ?")
_PLACE: Final = "SELECT place FROM log WHERE channel = ? AND message_id = ?"
_TEXT_INSERT: Final = "INSERT INTO text (place, nick, text, verdict, sent_at, sum) VALUES (?, ?, ?, ?, ?, ?)"
_TEXT_DELETE: Final = "DELETE FROM text WHERE place = ?"
_SEARCH_INSERT: Final = "INSERT INTO search (rowid, text) VALUES (?, ?)"
_SEARCH_DELETE: Final = "INSERT INTO search (search, rowid, text) VALUES ('delete', ?, ?)"


class IndexedText(NamedTuple):
    """A message's content as the node opened and verified it, to be shown and searched."""

    channel: str
    message_id: str
    nick: str
    text: str
    verdict: str
    sent_at: int  # epoch milliseconds


@dataclass(slots=True)
class _Changes:
    """Changes of one buffer. A key in both was dropped and then put again: its row gets a new place."""

    dropped: dict[str, None] = field(default_factory=dict)  # keys to delete
    rows: dict[str, Row] = field(default_factory=dict)  # rows to insert or replace, by key, in their last form


class Transaction:
    """Collects changes. The file is not touched before `write`; values that have no form in SQL raise at once.

    Channel numbers in keys are those of `ChannelTally.number`.
    """

    def __init__(self, tallies: dict[str, ChannelTally], journal: JournalWriter, ranges: Ranges) -> None:
        self._known = tallies  # as committed, by channel
        self._journal = journal
        self._ranges = ranges
        self.tallies: dict[str, ChannelTally] = {}  # of the channels that this transaction changes, as they will be
        self.rows: list[JournalRow] = []  # of the journal
        self._log: list[SqlRow] = []  # new messages; their packets, in the same order, are in `_bodies`
        self._keys: dict[int, list[tuple[int, str]]] = {}  # (Lamport, id) of the new messages, by channel number
        self._steps: list[Callable[[sqlite3.Connection], None]] = []  # of `also`
        self._bodies: list[SqlRow] = []
        self._ids: list[tuple[int, int, Entry]] = []  # place and channel number of new messages that are only ids
        self._withdrawn: dict[int, list[Entry]] = {}  # entries in whose place a new message comes, likewise
        self._thinned: dict[str, None] = {}  # channels that lose messages, perhaps the newest
        self._states: dict[int, SqlRow] = {}  # rows of `channel_state`, by channel number
        self._places: dict[tuple[int, str], int] = {}  # of the new messages, by channel number and id
        self._changes: dict[tuple[Table, int], _Changes] = {}  # by buffer and channel number
        self._texts: dict[tuple[int, str], IndexedText] = {}  # by channel number and message id
        self._local: dict[str, dict[object, SqlRow]] = {}  # by table of `_LOCAL` and key
        self._refused: dict[tuple[str, str], tuple[int, int]] = {}  # number and time, by channel and reason
        self._forgotten: list[tuple[bytes]] = []  # public keys
        self._values_gone: list[tuple[str]] = []  # names of values
        self._standings_gone: list[tuple[str, int]] = []  # sender ids, and since when
        self._senders_gone: list[tuple[int]] = []  # rows of `past_sender`
        self.wipes = False  # deletes texts that must be gone from all files

    def apply(self, channel: str, writes: Iterable[Write]) -> None:
        """Add the writes of one `Ready`, in their order."""
        number = self._number(channel)
        for write in writes:
            if isinstance(write, Append):
                self._append(channel, write.row, write.instead_of)
            elif isinstance(write, Put):
                self._put(number, write)
            else:
                assert isinstance(write, Drop)
                changes = self._changes.setdefault((write.table, number), _Changes())
                changes.rows.pop(write.key, None)
                changes.dropped[write.key] = None

    def index_text(self, channel: str, message_id: str, nick: str, text: str, verdict: str, sent_at: int) -> None:
        """Set the text of a message, to be shown and searched. The message is in the log, or in this transaction."""
        content = IndexedText(channel, message_id, nick, text, verdict, sent_at)
        self._texts[self._number(channel), message_id] = content

    def journal(self, rows: Iterable[JournalRow]) -> None:
        self.rows.extend(rows)

    def count_refused(self, channel: str, reason: str, count: int, at: int) -> None:
        """Count refused packets that have no row in the journal."""
        self._number(channel)
        self._refused[channel, reason] = (count, at)

    def set_draft(self, channel: str, text: str, at: int) -> None:
        """Set the text of the input line; "" for none."""
        number = self._number(channel)
        self._keep("draft", number, (number, text, at))

    def set_read_mark(self, channel: str, lamport: int, message_id: str, at: int, below: int | None = None) -> None:
        """Mark the log as read up to the message with this `lamport` and `message_id`; `below`: the first place of what
        stands below it now, if anything does."""
        number = self._number(channel)
        place = self.tallies[channel].last_place if below is None else below - 1
        self._keep("read_mark", number, (number, lamport, message_id, place, at))

    def put_key(self, public_key: bytes, nick: str, first_seen: int) -> None:
        self._keep("key_met", public_key, (public_key, nick, first_seen))

    def forget_key(self, public_key: bytes) -> None:
        """Forget a key, and the nicks that it held."""
        self._local.get("key_met", {}).pop(public_key, None)
        nicks = self._local.get("nick_held", {})
        for form in [form for form, row in nicks.items() if row[2] == public_key]:
            del nicks[form]
        self._forgotten.append((public_key,))

    def put_standing(self, sender_id: str, standing: int, since: int) -> None:
        self._keep("standing", sender_id, (sender_id, standing, since))

    def forget_standing(self, sender_id: str, since: int) -> None:
        """Forget the standing that a participant has since then, of whom no message is kept in full."""
        self._standings_gone.append((sender_id, since))

    def forget_senders_of_ids(self, rows: Iterable[int]) -> None:
        """Forget senders of messages without packets, of whom no such message is left."""
        self._senders_gone += [(row,) for row in rows]

    def put_nick(self, skeleton: str, nick: str, public_key: bytes, since: int) -> None:
        self._keep("nick_held", skeleton, (skeleton, nick, public_key, since))

    def also(self, channel: str, step: Callable[[sqlite3.Connection, int], None]) -> None:
        """Add a step that writes a table of its own; it gets the channel's number."""
        number = self._number(channel)
        self._steps.append(lambda connection: step(connection, number))

    def take_out(self, channel: str, keys: Iterable[tuple[int, str]]) -> None:
        """Count messages as gone from the log. Whoever calls this deletes them in a step."""
        self._number(channel)
        self.tallies[channel] = self.tallies[channel].without(keys)
        self._thinned[channel] = None

    def set_value(self, name: str, value: bytes) -> None:
        """Set a small value of the node, by name."""
        self._keep("setting", name, (name, value))

    def forget_value(self, name: str) -> None:
        """Forget a value, by name."""
        self._local.get("setting", {}).pop(name, None)
        self._values_gone.append((name,))

    def _keep(self, table: str, key: object, values: SqlRow) -> None:
        self._local.setdefault(table, {})[key] = (*values, row_sum(values))

    def _number(self, channel: str) -> int:
        """Return the number of a channel; a new channel gets the next one."""
        tally = self.tallies.get(channel) or self._known.get(channel)
        if tally is None:
            new = sum(1 for name in self.tallies if name not in self._known)
            highest = max((known.number for known in self._known.values()), default=0)
            tally = ChannelTally(highest + new + 1, channel)
        self.tallies[channel] = tally
        return tally.number

    def _append(self, channel: str, row: LogRow, instead_of: Entry | None) -> None:
        lamport, message_id = row.entry.lamport, row.entry.message_id
        before = self.tallies[channel]
        if instead_of is not None:
            self.take_out(channel, [instead_of[:2]])
            before = self.tallies[channel]
            self._withdrawn.setdefault(before.number, []).append(instead_of)
        tally = self.tallies[channel] = before.with_message(lamport, message_id)
        place = tally.last_place
        self._keys.setdefault(tally.number, []).append((lamport, message_id))
        if not row.raw and dropped_packets.is_short(message_id):
            self._ids.append((place, tally.number, row.entry))
            return
        self._places[tally.number, message_id] = place
        self._log.append(log_values(place, tally.number, row))
        if row.raw:
            self._bodies.append((place, row.raw, body_sum(message_id, row.raw)))

    def _put(self, number: int, write: Put) -> None:
        if write.table is Table.CHANNEL:
            values = (number, *cast(ChannelRow, write.row))
            self._states[number] = (*values, row_sum(values))
            return
        self._changes.setdefault((write.table, number), _Changes()).rows[write.key] = write.row

    def write(self, connection: sqlite3.Connection) -> None:
        """Write all changes inside a transaction of SQL. Once it commits, `tallies` and `rows` are those on disk."""
        for row in self.rows:
            if row.channel:
                self._number(row.channel)
        self._ranges.begin(self._keys)
        if self.tallies:
            connection.executemany(CHANNEL_REPLACE, [tally.values() for tally in self.tallies.values()])
        if self._keys:
            self._write_log(connection)
        for (table, number), changes in self._changes.items():
            self._write_buffer(connection, table, number, changes)
        if self._states:
            connection.executemany(STATE_REPLACE, list(self._states.values()))
        if self._texts:
            self._write_texts(connection)
        for forget in _FORGET if self._forgotten else ():
            connection.executemany(forget, self._forgotten)
        if self._values_gone:
            connection.executemany("DELETE FROM setting WHERE name = ?", self._values_gone)
        if self._standings_gone:
            connection.executemany("DELETE FROM standing WHERE sender_id = ? AND since = ?", self._standings_gone)
        if self._senders_gone:
            connection.executemany("DELETE FROM past_sender WHERE id = ?", self._senders_gone)
        for table_name, rows in self._local.items():
            connection.executemany(_LOCAL[table_name], list(rows.values()))
        for step in self._steps:
            step(connection)
        for channel in self._thinned:
            self.tallies[channel] = newest_again(connection, self.tallies[channel])
            connection.execute(CHANNEL_REPLACE, self.tallies[channel].values())
        if self.wipes:
            rewrite_tables(connection)
        if self.rows:
            self._journal.write(connection, self.rows, self._known, self.tallies)
        if self.rows or self._refused:
            self._journal.count_rejections(connection, self.rows, self._refused, self.tallies)

    def _write_log(self, connection: sqlite3.Connection) -> None:
        names = {tally.number: tally.name for tally in self.tallies.values()}
        for number, gone in self._withdrawn.items():
            for entry in gone:
                _delete_message(connection, number, entry.message_id)
            ids = [entry[:2] for entry in gone if dropped_packets.is_short(entry.message_id)]
            dropped_packets.forget(connection, number, ids)
            bare = sum(entry.bare and dropped_packets.is_short(entry.message_id) for entry in gone)
            count_ids(connection, names[number], -bare)
        connection.executemany(LOG_INSERT, self._log)
        connection.executemany(BODY_INSERT, self._bodies)
        dropped_packets.put(connection, self._ids)
        for number, count in Counter(number for _, number, _ in self._ids).items():
            count_ids(connection, names[number], count)
        removed = {number: [entry[:2] for entry in gone] for number, gone in self._withdrawn.items()}
        self._ranges.write(connection, self._keys, removed)

    @staticmethod
    def _write_buffer(connection: sqlite3.Connection, table: Table, number: int, changes: _Changes) -> None:
        """Write the changes of a buffer, deletes first: a row that was dropped and then put again has a new place."""
        shape = SHAPES[table]
        if changes.dropped:
            connection.executemany(shape.delete, [(number, key) for key in changes.dropped])
        if changes.rows:
            connection.executemany(shape.upsert, [shape.values(number, row) for row in changes.rows.values()])

    def _write_texts(self, connection: sqlite3.Connection) -> None:
        texts: list[SqlRow] = []
        found: list[tuple[int, str]] = []
        for (number, message_id), content in self._texts.items():
            place = self._places.get((number, message_id))
            if place is None:
                place = self._clear_text(connection, number, content)
            values = (place, content.nick, content.text, content.verdict, content.sent_at)
            # The checksum binds the text to the message, as that of the packet does.
            texts.append((*values, row_sum((message_id, *values))))
            found.append((place, content.text))
        connection.executemany(_TEXT_INSERT, texts)
        connection.executemany(_SEARCH_INSERT, found)

    @staticmethod
    def _clear_text(connection: sqlite3.Connection, number: int, content: IndexedText) -> int:
        """Remove the text of a message that was saved before; return the place of the message."""
        rows: list[Any] = connection.execute(_PLACE, (number, content.message_id)).fetchall()
        if not rows:
            raise LookupError(f"no message {content.message_id} in the log of {content.channel}")
        place: int = rows[0][0]
        _delete_text(connection, place)
        return place


def _delete_text(connection: sqlite3.Connection, place: int) -> None:
    for (old,) in connection.execute("SELECT text FROM text WHERE place = ?", (place,)).fetchall():
        # The index has no copy of the texts: to delete an entry it needs the old text.
        connection.execute(_SEARCH_DELETE, (place, old))
        connection.execute(_TEXT_DELETE, (place,))


def _delete_message(connection: sqlite3.Connection, number: int, message_id: str) -> None:
    """Delete a message from the log, if it is there, with its packet and its text."""
    for (place,) in connection.execute(_PLACE, (number, message_id)).fetchall():
        _delete_text(connection, place)
        connection.execute("DELETE FROM body WHERE place = ?", (place,))
        connection.execute("DELETE FROM log WHERE place = ?", (place,))


_RESTORE: Final = (
    "INSERT OR REPLACE INTO body (place, raw, sum) SELECT place, ?, ? FROM log WHERE channel = ? AND message_id = ?"
)


def restore_packet(transaction: Transaction, channel: str, message_id: str, raw: bytes) -> None:
    """Put a packet back into the log. The caller has checked that these are the bytes of that message."""

    def step(connection: sqlite3.Connection, number: int) -> None:
        connection.execute(_RESTORE, (raw, body_sum(message_id, raw), number, message_id))

    transaction.also(channel, step)
