"""Writing of the journal: numbers without a gap, checkpoints, counts of rejections, deletion of old rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sdschat.store.channel_table import ChannelTally
from sdschat.store.columns import SqlRow, dump_ids, load_ids, row_sum
from sdschat.store.journal import CHECKPOINT, KEEP_MS, REJECTED, JournalRow, fingerprint_text
from sdschat.store.schema import PLACE_BITS

CHECKPOINT_EVERY: Final = 1000
MAX_ROWS: Final = 20_000_000  # with any `journal.keep`: a participant may send invalid packets all day

JOURNAL_COLUMNS: Final = (
    "place, channel, event, message_id, sender, lamport, peer, ts_ms, mono_us, bytes, payload_bytes, overhead_bytes, "
    "deps, attempt, cause, messages, fingerprint, sum"
)
_INSERT: Final = f"INSERT INTO journal ({JOURNAL_COLUMNS}) VALUES ({', '.join('?' * 18)})"
_REJECT: Final = (
    "INSERT INTO rejection (channel, reason, count, last_at, sum) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (channel, reason) DO UPDATE SET count = excluded.count, last_at = excluded.last_at, sum = excluded.sum"
)
_OLDEST: Final = "SELECT place, ts_ms FROM journal ORDER BY place LIMIT ?"


def journal_row(row: Any, node: str, boot: str, channel: str) -> JournalRow:
    """Return the event of a row of `JOURNAL_COLUMNS`, whose checksum is checked before."""
    (
        place,
        _,
        event,
        message_id,
        sender,
        lamport,
        peer,
        ts_ms,
        mono_us,
        size,
        payload,
        overhead,
        deps,
        attempt,
        cause,
        messages,
        fingerprint,
        _,
    ) = row
    return JournalRow(
        event,
        channel,
        ts_ms,
        mono_us,
        message_id,
        sender,
        lamport,
        peer,
        size,
        payload,
        overhead,
        None if deps is None else load_ids(deps),
        attempt,
        cause,
        messages,
        fingerprint,
        node,
        boot,
        place & ((1 << PLACE_BITS) - 1),
    )


class JournalSettings(NamedTuple):
    """Identity of the writer, and bounds of the journal."""

    node: str = ""  # participant id
    boot: str = ""  # id of this run of the program
    keep_ms: int = KEEP_MS  # age at which rows are deleted, in milliseconds
    max_rows: int = MAX_ROWS
    checkpoint_every: int = CHECKPOINT_EVERY  # messages of a channel


class JournalWriter:
    """Writer of the journal. Its counts change only when the transaction is committed."""

    def __init__(self, connection: sqlite3.Connection, settings: JournalSettings) -> None:
        self._settings = settings
        last = connection.execute("SELECT max(id) FROM boot").fetchone()[0]
        self._boot = (last or 0) + 1  # number of this run, the upper part of `place`
        self._started = False  # True once a row of this boot is committed
        self._last_seq = 0  # number of the last committed row of this boot
        self._next_seq = 0  # `_last_seq` once the transaction is committed
        self._next_kept = 0  # `_kept` once the transaction is committed
        self._kept = _count(connection)  # committed rows of all boots
        self._rejections: dict[tuple[int, str], int] = {}  # committed counts by channel number and reason
        self._counted: dict[tuple[int, str], int] = {}  # the counts that the transaction changes
        for channel, reason, count in connection.execute("SELECT channel, reason, count FROM rejection").fetchall():
            self._rejections[channel, reason] = count

    def write(
        self,
        connection: sqlite3.Connection,
        rows: list[JournalRow],
        before: Mapping[str, ChannelTally],
        after: Mapping[str, ChannelTally],
    ) -> None:
        """Write rows inside a transaction of SQL; call `committed` after it. `after` has all channels of `rows`."""
        every = [*rows, *self._checkpoints(rows[-1], before, after)]
        numbers = {name: tally.number for name, tally in after.items()}
        if not self._started:
            boot = (self._boot, self._settings.node, self._settings.boot)
            connection.execute(
                "INSERT OR REPLACE INTO boot (id, node, boot, sum) VALUES (?, ?, ?, ?)", (*boot, row_sum(boot))
            )
        first = (self._boot << PLACE_BITS) + self._last_seq + 1
        connection.executemany(
            _INSERT, [_values(first + at, numbers.get(row.channel), row) for at, row in enumerate(every)]
        )
        self._next_seq = self._last_seq + len(every)
        self._prune(connection, 2 * len(every), rows[-1].ts_ms)

    def committed(self, rows: list[JournalRow]) -> None:
        """Take over the counts of the transaction that wrote `rows`."""
        if rows:
            self._started = True
            self._last_seq, self._kept = self._next_seq, self._next_kept
        self._rejections.update(self._counted)
        self._counted = {}

    def rolled_back(self) -> None:
        """Drop the counts of the transaction, which was not committed."""
        self._counted = {}

    def _checkpoints(
        self, last: JournalRow, before: Mapping[str, ChannelTally], after: Mapping[str, ChannelTally]
    ) -> Iterator[JournalRow]:
        """Yield the state of a channel's log, once in `checkpoint_every` messages of the channel."""
        every = self._settings.checkpoint_every
        for name, tally in after.items():
            old = before[name].messages if name in before else 0
            if tally.messages // every > old // every:
                fingerprint = fingerprint_text(tally.fingerprint)
                yield JournalRow(
                    CHECKPOINT,
                    name,
                    last.ts_ms,
                    last.mono_us,
                    lamport=tally.newest,
                    messages=tally.messages,
                    fingerprint=fingerprint,
                )

    def count_rejections(
        self,
        connection: sqlite3.Connection,
        rows: list[JournalRow],
        refused: Mapping[tuple[str, str], tuple[int, int]],
        after: Mapping[str, ChannelTally],
    ) -> None:
        """Write the numbers of refused packets. `refused`: number and time of those without a row, by channel and
        reason."""
        self._counted = {}
        numbers = {name: tally.number for name, tally in after.items()}
        last_at: dict[tuple[int, str], int] = {}
        for row in rows:
            number = numbers.get(row.channel)
            if row.event == REJECTED and row.cause is not None and number is not None:
                key = (number, row.cause)
                # A row with a number is of packets that were counted as they came.
                self._count(key, int(row.attempt is None))
                last_at[key] = row.ts_ms
        for (channel, reason), (count, at) in refused.items():
            key = (numbers[channel], reason)
            self._count(key, count)
            last_at[key] = at
        if self._counted:
            values = [(*key, count, last_at[key]) for key, count in self._counted.items()]
            connection.executemany(_REJECT, [(*row, row_sum(row)) for row in values])

    def _count(self, key: tuple[int, str], more: int) -> None:
        self._counted[key] = self._counted.get(key, self._rejections.get(key, 0)) + more

    def trim(self, connection: sqlite3.Connection, rows: int, most: int) -> int:
        """Delete the oldest rows beyond `rows`, at most `most` of them, in a transaction of their own."""
        over = min(self._kept - rows, most)
        if over <= 0:
            return 0
        connection.execute("BEGIN IMMEDIATE")
        try:
            gone = [(place,) for place, _ in connection.execute(_OLDEST, (over,)).fetchall()]
            connection.executemany("DELETE FROM journal WHERE place = ?", gone)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        self._kept -= len(gone)
        return len(gone)

    def _prune(self, connection: sqlite3.Connection, limit: int, wall: int) -> None:
        """Delete rows that are too old or too many: at most `limit`, a little more than were written, so that it never
        takes long and still catches up."""
        oldest = connection.execute(_OLDEST, (limit,)).fetchall()
        cutoff = wall - self._settings.keep_ms
        gone = [(place,) for place, ts_ms in oldest if ts_ms < cutoff]
        kept = self._kept + self._next_seq - self._last_seq
        if not gone and kept > self._settings.max_rows:
            gone = [(place,) for place, _ in oldest[: kept - self._settings.max_rows]]
        connection.executemany("DELETE FROM journal WHERE place = ?", gone)
        self._next_kept = kept - len(gone)


def _count(connection: sqlite3.Connection) -> int:
    """Return the number of rows, from the first and last of each boot; a full count would read all of them."""
    count, place = 0, 0
    while True:
        first = connection.execute("SELECT min(place) FROM journal WHERE place > ?", (place,)).fetchone()[0]
        if first is None:
            return count
        end = ((first >> PLACE_BITS) + 1) << PLACE_BITS
        place = connection.execute("SELECT max(place) FROM journal WHERE place < ?", (end,)).fetchone()[0]
        count += place - first + 1


def _values(place: int, number: int | None, row: JournalRow) -> SqlRow:
    values = (
        place,
        number,
        row.event,
        row.message_id,
        row.sender,
        row.lamport,
        row.peer,
        row.ts_ms,
        row.mono_us,
        row.bytes,
        row.payload_bytes,
        row.overhead_bytes,
        None if row.deps is None else dump_ids(row.deps),
        row.attempt,
        row.cause,
        row.messages,
        row.fingerprint,
    )
    return (*values, row_sum(values))
