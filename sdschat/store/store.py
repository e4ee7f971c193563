"""A profile's database, as the node writes and reads it.

    with Store.open(path, codec, journal=JournalSettings(node, boot)) as store:
        channel = store.channel("lobby")
        engine = Channel("lobby", …, history=channel.history, snapshot=channel.snapshot())
        …
        store.commit([("lobby", ready.writes)], journal_of("lobby", ready, now), texts)

Everything that arrived in one turn of the loop is one `commit`. When it returns, all of it is on disk; when it raises,
nothing of it is, and it may be called again with the same arguments.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sdschat.sds.values import Codec, Snapshot, Write
from sdschat.store.channel_table import ChannelTally, load_tallies
from sdschat.store.columns import RowAltered
from sdschat.store.connection import open_writer, without_waiting
from sdschat.store.errors import DiskFull, StoreDamaged, StoreError, as_store_error
from sdschat.store.files import (
    ProfileLock,
    Reserve,
    copy_before,
    prepare_directory,
    prepare_file,
    remove_copies,
    sync_directory,
)
from sdschat.store.history import SqlHistory
from sdschat.store.journal import JournalRow, fingerprint_text
from sdschat.store.journal_writer import JournalSettings, JournalWriter
from sdschat.store.migrate import Upgrade, migrate
from sdschat.store.schema import MIGRATIONS, Migration
from sdschat.store.snapshot import Loader, Loss
from sdschat.store.transaction import IndexedText, Transaction
from sdschat.store.user_state import UserState
from sdschat.store.verify import mend_on_opening

if TYPE_CHECKING:
    from sdschat.store.ranges import Ranges, StoredLog
    from sdschat.store.reader import Reader


class ChannelStore:
    """One channel of the database, for its engine."""

    def __init__(self, store: Store, channel_id: str) -> None:
        self._store = store
        self.channel_id = channel_id
        self.history = SqlHistory(store.connection, store.path, channel_id, store.number)

    def snapshot(self) -> Snapshot | None:
        """Return the saved state without the log; None if the channel was never opened in this profile."""
        return self._store.load_snapshot(self.channel_id)

    def apply(self, writes: Iterable[Write]) -> None:
        """Apply the writes of one step in a transaction of their own."""
        self._store.commit([(self.channel_id, writes)])


class Store(UserState):
    """The database of one profile, locked by this process, used from one thread."""

    def __init__(
        self, path: Path, codec: Codec, connection: sqlite3.Connection, lock: ProfileLock, journal: JournalSettings
    ) -> None:
        super().__init__(connection, path)
        self.path = path
        self.losses: list[Loss] = []  # altered rows found since opening
        self.upgrade: Upgrade | None = None  # what opening it did to an older one
        self.reserve = Reserve(path)
        # The program may have been killed between a deletion and the wiping.
        self._wipe_due = bool(connection.execute("SELECT 1 FROM timber_row LIMIT 1").fetchall())
        self._codec = codec
        self._lock = lock
        self._tallies: dict[str, ChannelTally] = load_tallies(connection, path)  # as committed, by channel
        self._journal = JournalWriter(connection, journal)

    @classmethod
    def open(
        cls,
        path: Path | str,
        codec: Codec,
        *,
        journal: JournalSettings | None = None,
        migrations: Sequence[Migration] = MIGRATIONS,
        thorough: bool | None = None,
    ) -> Store:
        """Open the database; make it if there is none, migrate it if it is old.

        Raises `ProfileInUse`, `SchemaNewer`, `StoreDamaged`, `DiskFull`, `StoreReadOnly` or `StoreUnavailable`.
        Altered rows that could be repaired are in `losses`. A small database is checked as a whole, a large one only
        with `thorough`.
        """
        path = Path(path)
        prepare_directory(path)
        lock = ProfileLock(path)
        try:
            prepare_file(path)
            try:
                return cls._open_locked(path, codec, lock, journal or JournalSettings(), migrations, thorough)
            except DiskFull:
                reserve = Reserve(path)
                if not reserve.held():
                    raise
                reserve.free()
                return cls._open_locked(path, codec, lock, journal or JournalSettings(), migrations, thorough)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _open_locked(
        cls,
        path: Path,
        codec: Codec,
        lock: ProfileLock,
        journal: JournalSettings,
        migrations: Sequence[Migration],
        thorough: bool | None,
    ) -> Store:
        connection = open_writer(path)
        try:
            with as_store_error(path):
                sync_directory(path)
                applied = migrate(connection, path, migrations)
                losses = mend_on_opening(connection, path, codec, thorough)
                store = cls(path, codec, connection, lock, journal)
            store.wipe()
            store.losses += losses
            if applied and (before := applied[0] - 1):
                store.upgrade = Upgrade(before, applied[-1], copy_before(path, before))
            store.reserve.take()
        except BaseException:
            connection.close()
            raise
        return store

    @staticmethod
    def open_read_only(path: Path | str, codec: Codec) -> Reader:
        """Open a database for reading, also while a node is writing."""
        from sdschat.store.reader import Reader

        return Reader.open(Path(path), codec)

    @cached_property
    def ranges(self) -> Ranges:
        """Return the range indexes. Loaded with the first transaction: they are not needed to show the history."""
        from sdschat.store.ranges import Ranges

        return Ranges(self.connection, self.path)

    def channel(self, channel_id: str) -> ChannelStore:
        return ChannelStore(self, channel_id)

    def channels(self) -> list[str]:
        """Return the names of all saved channels, sorted."""
        return sorted(self._tallies)

    def log(self, channel_id: str) -> StoredLog:
        """Return the committed log of a channel, for comparison with that of another node."""
        from sdschat.store.ranges import StoredLog

        return StoredLog(self.connection, self.path, self.ranges, self.number(channel_id))

    def messages(self, channel_id: str) -> int:
        """Return the number of messages in the log of a channel."""
        tally = self._tallies.get(channel_id)
        return 0 if tally is None else tally.messages

    def fingerprint(self, channel_id: str) -> str:
        """Return the fingerprint of the log, which equal logs share."""
        tally = self._tallies.get(channel_id)
        return "" if tally is None else fingerprint_text(tally.fingerprint)

    def number(self, channel_id: str) -> int | None:
        tally = self._tallies.get(channel_id)
        return None if tally is None else tally.number

    def rows(self, channel_id: str, query: str, *values: str | int) -> list[Any]:
        """Return the rows of a query whose first value is the number of a channel. Raises StoreError."""
        with as_store_error(self.path):
            return self.connection.execute(query, (self.number(channel_id), *values)).fetchall()

    def load_snapshot(self, channel_id: str) -> Snapshot | None:
        tally = self._tallies.get(channel_id)
        if tally is None:
            return None
        loader = Loader(self.connection, self._codec, channel_id, tally.number)
        with as_store_error(self.path):
            try:
                snapshot = loader.load()
            except RowAltered as error:
                raise StoreDamaged(self.path, f"channel {channel_id}: {error}") from error
            if snapshot is None and tally.messages:
                raise StoreDamaged(self.path, f"channel {channel_id}: it has messages, but its state is gone")
            self.losses += loader.losses
            loader.mend()
        return snapshot

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Collect changes, and commit them together when the block ends without an exception."""
        transaction = Transaction(self._tallies, self._journal, self.ranges)
        yield transaction
        self._write(transaction)

    def commit(
        self,
        batches: Iterable[tuple[str, Iterable[Write]]],
        journal: Sequence[JournalRow] = (),
        texts: Iterable[IndexedText] = (),
    ) -> None:
        """Commit the writes of any number of steps and channels in one transaction."""
        with self.transaction() as transaction:
            for channel, writes in batches:
                transaction.apply(channel, writes)
            for text in texts:
                transaction.index_text(*text)
            transaction.journal(journal)

    def _write(self, transaction: Transaction) -> None:
        connection = self.connection
        try:
            with as_store_error(self.path):
                if transaction.wipes:
                    remove_copies(self.path)
                connection.execute("BEGIN IMMEDIATE")
                transaction.write(connection)
                connection.execute("COMMIT")
        except BaseException as error:
            # After some errors SQLite has rolled back by itself, and a second ROLLBACK would be an error.
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            if isinstance(error, DiskFull):
                self.reserve.free()
            self._journal.rolled_back()
            raise
        self._wipe_due |= transaction.wipes
        self.wipe()
        self._tallies.update(transaction.tallies)
        self._journal.committed(transaction.rows)
        self.ranges.committed()

    def wipe(self) -> bool:
        """Empty the write-ahead log where it may still hold texts that were deleted. False: a reader is in the way,
        such as an audit, and each commit tries again."""
        if not self._wipe_due:
            return True
        with contextlib.suppress(sqlite3.Error), without_waiting(self.connection):
            busy, *_ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._wipe_due = bool(busy)
        return not self._wipe_due

    def trim_journal(self, rows: int, most: int) -> int:
        """Delete the oldest rows of the journal beyond `rows`, at most `most` of them. Return their number."""
        with as_store_error(self.path):
            return self._journal.trim(self.connection, rows, most)

    def close(self) -> None:
        """Close the database. Committed data is safe without it; it leaves one file instead of three."""
        try:
            with contextlib.suppress(StoreError), as_store_error(self.path):
                self.connection.close()
        finally:
            self._lock.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
