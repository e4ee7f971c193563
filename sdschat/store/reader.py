"""Read access to a profile's database while a node may be writing to it: `sdschat log`, `inspect`, `channels`."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from sdschat.sds.values import Codec, Entry, OutgoingRow, Snapshot, Table
from sdschat.store import dropped_packets
from sdschat.store.channel_table import ChannelTally, load_tallies
from sdschat.store.columns import SHAPES, RowAltered, row_sum
from sdschat.store.connection import open_reader
from sdschat.store.display_rows import Ancestor, ChannelInfo, DirectRow, DisplayMessage, Key, MessageDetail, rows_after
from sdschat.store.errors import StoreDamaged, as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.journal import HERE, LEFT, JournalRow, fingerprint_text
from sdschat.store.journal_writer import JOURNAL_COLUMNS, journal_row
from sdschat.store.migrate import require_readable
from sdschat.store.query import IS_HIDDEN, MessagePage, MessageQuery
from sdschat.store.schema import PLACE_BITS
from sdschat.store.snapshot import Loader, Loss
from sdschat.store.user_state import UserState
from sdschat.store.verify import check_pages

_WINDOW: Final = 512  # messages fetched at a time
_INSTRUCTIONS: Final = 20_000  # of SQLite's machine, about a millisecond, between two looks if a query is still wanted
_LAST_CHARACTER: Final = "\U0010ffff"
_GLANCE: Final = (
    "SELECT (SELECT count(*) FROM outgoing WHERE channel = :channel AND state < 2), "
    "(SELECT count(*) FROM held WHERE channel = :channel), (SELECT count(*) FROM missing WHERE channel = :channel), "
    "(SELECT count(*) FROM gap WHERE channel = :channel AND reason = 'lost'), "
    "(SELECT count(*) FROM peer WHERE channel = :channel)"
)
_STATUS: Final = (
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM held WHERE channel = :channel AND message_id = :id) THEN 'held' "
    "WHEN EXISTS (SELECT 1 FROM missing WHERE channel = :channel AND message_id = :id) THEN 'missing' "
    "ELSE coalesce((SELECT reason FROM gap WHERE channel = :channel AND message_id = :id), 'unknown') END"
)
_IDS: Final = "SELECT message_id FROM log WHERE channel = ? AND message_id BETWEEN ? AND ? ORDER BY message_id LIMIT ?"
_JOURNAL: Final = (
    f"SELECT {JOURNAL_COLUMNS} FROM journal WHERE place > ? AND (? IS NULL OR channel = ?) ORDER BY place LIMIT ?"
)

_JOURNAL_BACKWARDS: Final = f"SELECT {JOURNAL_COLUMNS} FROM journal WHERE place < ? ORDER BY place DESC LIMIT ?"
_PAST_ALL: Final = 1 << 62  # a place beyond every row
_LOOKED_AT: Final = 200_000  # events before a moment that are looked at for who was here
_MINUTE: Final = 60_000  # rows of one time are saved within it


class Reader(UserState):
    """A read-only connection. Each query sees the database as it is at that moment."""

    def __init__(self, path: Path, connection: sqlite3.Connection, codec: Codec) -> None:
        super().__init__(connection, path)
        self.path = path
        self._codec = codec

    @classmethod
    def open(cls, path: Path | str, codec: Codec) -> Reader:
        """Open a database. Raises `SchemaNewer`, `SchemaOlder`, `StoreDamaged` or `StoreUnavailable`."""
        path = Path(path)
        connection = open_reader(path)
        try:
            require_readable(connection, path)
        except BaseException:
            connection.close()
            raise
        return cls(path, connection, codec)

    def abandon_when(self, stopped: Callable[[], bool]) -> None:
        """End queries soon after this function has become true. They raise a StoreError then."""
        self.connection.set_progress_handler(stopped, _INSTRUCTIONS)

    def check(self) -> None:
        """Read the whole file. Raises `StoreDamaged` if a page of it is damaged."""
        with as_store_error(self.path):
            check_pages(self.connection, self.path)

    def data_version(self) -> int:
        """Return a number that changes with every commit of another connection."""
        with as_store_error(self.path):
            version: int = self.connection.execute("PRAGMA data_version").fetchone()[0]
        return version

    def channels(self) -> list[ChannelInfo]:
        """Return all channels by name, with their counts, without a scan of their logs."""
        found = []
        with as_store_error(self.path):
            for name, tally in sorted(load_tallies(self.connection, self.path).items()):
                counts = self.connection.execute(_GLANCE, {"channel": tally.number}).fetchone()
                fingerprint = fingerprint_text(tally.fingerprint)
                mine = (self.draft(name), self.unread(name))
                found.append(ChannelInfo(name, tally.messages, tally.newest, fingerprint, *mine, *counts))
        return found

    def messages(
        self,
        channel: str,
        *,
        since: int | None = None,
        until: int | None = None,
        search: str = "",
        sender_id: str | None = None,
        limit: int | None = None,
        before: Key | None = None,
        after: Key | None = None,
        with_raw: bool = False,
    ) -> Iterator[DisplayMessage]:
        """Yield the log in its order, read a window at a time, so that a million messages take no more memory than a
        few.

        `since` and `until` are Lamport times, both included; `before` and `after` are keys, both excluded. With a
        `limit` the last messages are returned, but with `after` the first ones.
        """
        tally = self._tally(channel)
        if tally is None or limit == 0:
            return
        query = MessageQuery(tally.number, since, until, search, sender_id, before, after, with_raw)
        if search:
            yield from self._search(channel, query, limit)
        elif limit is not None and after is None:
            newest = list(self._walk(channel, query, limit, backwards=True))
            yield from reversed(newest)
        else:
            yield from self._walk(channel, query, limit, backwards=False)

    def _walk(self, channel: str, query: MessageQuery, limit: int | None, backwards: bool) -> Iterator[DisplayMessage]:
        left = limit
        while left is None or left > 0:
            window = _WINDOW if left is None else min(_WINDOW, left)
            page = self._page(channel, query, window, backwards)
            yield from page.messages
            if page.last:
                return
            query = query.beyond(page.messages[-1].key, backwards)
            left = None if left is None else left - len(page.messages)

    def _search(self, channel: str, query: MessageQuery, limit: int | None) -> Iterator[DisplayMessage]:
        with as_store_error(self.path):
            places = query.places(self.connection, limit)
        for start in range(0, len(places), _WINDOW):
            with as_store_error(self.path), self._altered_is_damaged(channel):
                found = query.at_places(self.connection, channel, places[start : start + _WINDOW])
            yield from found

    @contextmanager
    def _altered_is_damaged(self, channel: str) -> Iterator[None]:
        try:
            yield
        except RowAltered as error:
            raise StoreDamaged(self.path, f"channel {channel}: {error}") from error

    def _page(self, channel: str, query: MessageQuery, window: int, backwards: bool) -> MessagePage:
        with as_store_error(self.path), self._altered_is_damaged(channel):
            return query.page(self.connection, channel, window, backwards)

    def find_ids(self, channel: str, prefix: str, limit: int = 10) -> list[str]:
        """Return the ids that begin with `prefix`: users type the first few letters."""
        tally = self._tally(channel)
        if tally is None:
            return []
        with as_store_error(self.path):
            rows = self.connection.execute(_IDS, (tally.number, prefix, prefix + _LAST_CHARACTER, limit)).fetchall()
        return [message_id for (message_id,) in rows]

    def without_packet(self, channel: str, prefix: str, limit: int) -> list[Entry]:
        """Return the messages of the log of which no packet is kept, and whose ids begin so."""
        tally = self._tally(channel)
        if tally is None:
            return []
        with as_store_error(self.path):
            return dropped_packets.beginning_with(self.connection, tally.number, prefix, limit)

    def lacks_packet(self, channel: str, message_id: str) -> bool:
        """True if the log has this message, and no packet of it is kept."""
        tally = self._tally(channel)
        if tally is None:
            return False
        with as_store_error(self.path):
            return dropped_packets.entry(self.connection, tally.number, message_id) is not None

    def hides(self, sender_id: str) -> bool:
        """True if messages of this participant are listed nowhere: they are muted, ignored, or a stranger who waits."""
        with as_store_error(self.path):
            return self.connection.execute(IS_HIDDEN, (sender_id,)).fetchone() is not None

    def message(self, channel: str, message_id: str, ancestors: int = 50) -> MessageDetail | None:
        """Return one message in full, with at most `ancestors` of the messages that it depends on, nearest first."""
        tally = self._tally(channel)
        if tally is None:
            return None
        message = self._one(channel, tally.number, message_id, with_raw=True)
        if message is None:
            return None
        found: dict[str, Ancestor] = {}
        frontier = list(message.dependencies)
        depth = 1
        while frontier and len(found) <= ancestors:
            following: list[str] = []
            for name in frontier:
                if name not in found and len(found) <= ancestors:
                    found[name], parents = self._ancestor(channel, tally.number, name, depth)
                    following += parents
            frontier, depth = following, depth + 1
        nearest = tuple(found.values())
        return MessageDetail(
            message, self._outgoing(tally.number, message), nearest[:ancestors], len(nearest) > ancestors
        )

    def _ancestor(self, channel: str, number: int, message_id: str, depth: int) -> tuple[Ancestor, tuple[str, ...]]:
        """Return what is known of a dependency, and the ids that it depends on itself."""
        message = self._one(channel, number, message_id, with_raw=False)
        if message is not None:
            return Ancestor(message_id, "delivered", message, depth), message.dependencies
        with as_store_error(self.path):
            entry = dropped_packets.entry(self.connection, number, message_id)
        if entry is not None:
            return Ancestor(message_id, "id_alone", None, depth), tuple(entry.dependencies)
        return Ancestor(message_id, self._status(number, message_id), None, depth), ()

    def _one(self, channel: str, number: int, message_id: str, with_raw: bool) -> DisplayMessage | None:
        query = MessageQuery(number, message_id=message_id, with_raw=with_raw)
        page = self._page(channel, query, 1, backwards=False)
        return page.messages[0] if page.messages else None

    def _status(self, number: int, message_id: str) -> str:
        with as_store_error(self.path):
            return str(self.connection.execute(_STATUS, {"channel": number, "id": message_id}).fetchone()[0])

    def _outgoing(self, number: int, message: DisplayMessage) -> OutgoingRow | None:
        shape = SHAPES[Table.OUTGOING]
        with as_store_error(self.path):
            rows = self.connection.execute(
                f"{shape.select} WHERE channel = ? AND message_id = ?", (number, message.message_id)
            ).fetchall()
        try:
            row = shape.row(rows[0], self._codec) if rows else None
        except RowAltered:
            return None
        return row if isinstance(row, OutgoingRow) else None

    def snapshot(self, channel: str) -> tuple[Snapshot | None, list[Loss]]:
        """Return the buffers, clock and peers of a channel, and the rows that are left out because they were
        altered."""
        tally = self._tally(channel)
        if tally is None:
            return None, []
        loader = Loader(self.connection, self._codec, channel, tally.number)
        with as_store_error(self.path), self._altered_is_damaged(channel):
            return loader.load(), loader.losses

    def direct(self, channel: str, after: int = 0) -> list[tuple[int, DirectRow]]:
        """Return the direct messages of a channel after a place, each with its own place, in order of arrival."""
        tally = self._tally(channel)
        with as_store_error(self.path):
            return [] if tally is None else list(rows_after(self.connection, tally.number, after))

    def rejections(self, channel: str | None = None) -> dict[str, dict[str, int]]:
        """Return the number of packets refused since the profile exists, by channel and reason."""
        found: dict[str, dict[str, int]] = {}
        with as_store_error(self.path):
            rows = self.connection.execute(
                "SELECT rejection.channel, reason, count, last_at, rejection.sum, name FROM rejection "
                "JOIN channel ON channel.id = rejection.channel ORDER BY name, reason"
            ).fetchall()
        for *values, checksum, name in rows:
            if row_sum(values) == checksum and channel in (None, name):
                found.setdefault(name, {})[values[1]] = values[2]
        return found

    def journal(self, channel: str | None = None) -> Iterator[JournalRow]:
        """Yield every event that is kept, in the order in which they were saved."""
        with as_store_error(self.path):
            boots = {row[0]: row[1:] for row in self.connection.execute("SELECT id, node, boot FROM boot")}
            names = {tally.number: name for name, tally in load_tallies(self.connection, self.path).items()}
        number = None
        if channel is not None:
            tally = self._tally(channel)
            if tally is None:
                return
            number = tally.number
        place = 0
        while True:
            with as_store_error(self.path):
                rows = self.connection.execute(_JOURNAL, (place, number, number, _WINDOW)).fetchall()
            for row in rows:
                yield self._journal_row(row, boots.get(row[0] >> PLACE_BITS, ("", "")), names.get(row[1], ""))
            if len(rows) < _WINDOW:
                return
            place = rows[-1][0]

    def journal_since(self, channel: str, moment: int, limit: int) -> list[JournalRow]:
        """Return the events of a channel from a moment on, in the order in which they were saved: the newest `limit`.
        It reads backwards, and no further than a minute before that moment, in whatever channel."""
        found: list[JournalRow] = []
        for event, is_of_channel in self._journal_backwards(channel):
            if event.ts_ms < moment - _MINUTE or len(found) == limit:
                break
            if is_of_channel and event.ts_ms >= moment:
                found.append(event)
        return found[::-1]

    def here_before(self, channel: str, node: str, moment: int) -> list[str]:
        """Return the sender ids of those who were here at a moment, by the events of the run of then, in which `node`
        itself came first. It reads backwards, and a limited number of events."""
        told: dict[str, bool] = {}
        for event, is_of_channel in islice(self._journal_backwards(channel), _LOOKED_AT):
            if not is_of_channel or event.ts_ms >= moment or event.event not in (HERE, LEFT) or event.sender is None:
                continue
            told.setdefault(event.sender, event.event == HERE)
            if event.sender == node:
                break
        return [sender_id for sender_id, is_here in reversed(told.items()) if is_here]

    def _journal_backwards(self, channel: str) -> Iterator[tuple[JournalRow, bool]]:
        """Yield all events, the newest first, and True for those of this channel."""
        tally = self._tally(channel)
        with as_store_error(self.path):
            boots = {row[0]: row[1:] for row in self.connection.execute("SELECT id, node, boot FROM boot")}
        place = _PAST_ALL
        while tally is not None:
            with as_store_error(self.path):
                rows = self.connection.execute(_JOURNAL_BACKWARDS, (place, _WINDOW)).fetchall()
            for row in rows:
                event = self._journal_row(row, boots.get(row[0] >> PLACE_BITS, ("", "")), channel)
                yield event, row[1] == tally.number
            if len(rows) < _WINDOW:
                return
            place = rows[-1][0]

    def _journal_row(self, row: Any, boot: tuple[str, str], channel: str) -> JournalRow:
        if row_sum(row[:-1]) != row[-1]:
            raise StoreDamaged(self.path, "a row of the journal does not match its checksum")
        return journal_row(row, *boot, channel)

    def unindexed(self, channel: str) -> list[str]:
        """Return the ids of messages whose packets are here without text: not opened yet, or removed because the text
        was altered."""
        tally = self._tally(channel)
        if tally is None:
            return []
        with as_store_error(self.path):
            rows = self.connection.execute(
                "SELECT message_id FROM log JOIN body USING (place) LEFT JOIN text USING (place) "
                "WHERE log.place BETWEEN ? AND ? AND text.place IS NULL ORDER BY log.place",
                (first_place(tally.number), last_place(tally.number)),
            ).fetchall()
        return [message_id for (message_id,) in rows]

    def _tally(self, channel: str) -> ChannelTally | None:
        with as_store_error(self.path):
            return load_tallies(self.connection, self.path).get(channel)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
