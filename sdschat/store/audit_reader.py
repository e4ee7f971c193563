"""The rows of a database at one moment, intact or altered, for comparison with other databases.

`Reader` shows people intact rows and stops at altered ones. Here an altered row is a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from sdschat.sds.limits import MAX_LAMPORT
from sdschat.sds.values import WITHOUT_A_BODY, AckState, ChannelRow, OutgoingRow
from sdschat.store import dropped_packets
from sdschat.store.channel_table import ChannelTally, count_again, load_tallies
from sdschat.store.columns import LOG_COLUMNS, body_sum, load_ids, row_sum
from sdschat.store.connection import open_reader
from sdschat.store.errors import UNREADABLE, StoreDamaged, as_store_error
from sdschat.store.history import first_place, last_place
from sdschat.store.journal import JournalRow, fingerprint_text
from sdschat.store.journal_writer import JOURNAL_COLUMNS, journal_row
from sdschat.store.migrate import require_readable
from sdschat.store.retention_floor import floor_of
from sdschat.store.schema import PLACE_BITS
from sdschat.store.user_state import UserState

_LOG: Final = ", ".join(f"log.{name}" for name in LOG_COLUMNS.split(", "))
_OUTGOING: Final = ", ".join(f"outgoing.{name}" for name in ("channel", *OutgoingRow._fields, "sum"))
_MESSAGES: Final = (
    f"SELECT {_LOG}, body.raw, body.sum, text.nick, text.text, text.verdict, text.sent_at, text.sum, {_OUTGOING} "
    "FROM log LEFT JOIN body ON body.place = log.place LEFT JOIN text ON text.place = log.place "
    "LEFT JOIN outgoing ON log.own = 1 AND outgoing.channel = log.channel AND outgoing.message_id = log.message_id "
    "WHERE log.place BETWEEN ? AND ?"
)
_DECLARED: Final = (
    "SELECT message_id, reason, at FROM gap WHERE channel = :channel "
    "UNION ALL SELECT message_id, 'missing', since FROM missing WHERE channel = :channel "
    "UNION ALL SELECT message_id, CASE WHEN release_at > 0 THEN 'ahead' ELSE 'held' END, received_at FROM held "
    "WHERE channel = :channel"
)
_WIDTH: Final = LOG_COLUMNS.count(",") + 1
_UNCOUNTABLE: Final = "SELECT message_id FROM log WHERE lamport < 0 ORDER BY place LIMIT 1"
_OWN_SENDER: Final = "SELECT sender_id FROM log WHERE own = 1 LIMIT 1"
_SEQ_MASK: Final = (1 << PLACE_BITS) - 1


WITHHELD: Final = "not_member"  # the verdict on a message of a private channel whose text is not shown


class LogRowFound(NamedTuple):
    """A row of the log as it is in the file, with packet, text and state."""

    message_id: str
    lamport: int
    sender_id: str
    dependencies: tuple[str, ...]
    own: bool
    via: str
    received_at: int
    raw: bytes | None
    nick: str | None
    text: str | None  # None as well for one that is withheld
    sent_at: int | None
    state: AckState | None  # of an own message
    damage: str  # the parts that were altered, in words; empty if it is intact


class ChannelCounts(NamedTuple):
    """A channel with its saved counts and the counts of its rows."""

    channel: str
    number: int
    horizon: int  # Lamport time from which on messages are fetched; 0: unknown
    claimed: int  # messages, as saved
    claimed_fingerprint: str
    counted: int  # messages, counted from the log
    counted_fingerprint: str


class BufferedRow(NamedTuple):
    """A message that the node lacks, or has not delivered yet."""

    message_id: str
    kind: str  # lost, unproven, missing, held or ahead
    at: int  # epoch milliseconds


class AlteredRow(NamedTuple):
    """A row of the journal that was altered."""

    seq: int
    boot: str
    detail: str


class AuditReader:
    """One database at one moment, also while its node is writing. Raises StoreError if it cannot be read.

    Raises ValueError, with the name of the message or event, for a value that no row can have.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = open_reader(path)
        try:
            with as_store_error(path):
                self._connection.execute("BEGIN")  # from the first query on, all see the same state
                require_readable(self._connection, path)
                self._tallies = load_tallies(self._connection, path)
                self._boots = self._read_boots()
        except BaseException:
            self._connection.close()
            raise

    def _read_boots(self) -> dict[int, tuple[str, str]]:
        rows = self._connection.execute("SELECT id, node, boot, sum FROM boot ORDER BY id").fetchall()
        return {row[0]: (row[1], row[2]) for row in rows if row_sum(row[:-1]) == row[-1]}

    def node(self) -> str:
        """Return the participant id of the database's node; "" if it is not in the database."""
        for node, _ in reversed(self._boots.values()):
            if node:
                return node
        with as_store_error(self.path):
            row = self._connection.execute(_OWN_SENDER).fetchone()
        return "" if row is None else str(row[0])

    def as_of(self) -> int:
        """Return the place of the newest row of the journal: it grows with every change, and never falls."""
        with as_store_error(self.path):
            place = self._connection.execute("SELECT max(place) FROM journal").fetchone()[0]
        return place or 0

    def standings(self) -> list[ChannelCounts]:
        found = []
        for name, tally in sorted(self._tallies.items()):
            try:
                with as_store_error(self.path):
                    counted = count_again(self._connection, tally)
                    horizon = self._horizon(tally.number)
            except UNREADABLE as error:
                with as_store_error(self.path):
                    row = self._connection.execute(_UNCOUNTABLE).fetchone()
                raise ValueError(f"{'a message' if row is None else f'message {row[0]}'}: {error}") from error
            claims = (
                tally.messages,
                fingerprint_text(tally.fingerprint),
                counted.messages,
                fingerprint_text(counted.fingerprint),
            )
            found.append(ChannelCounts(name, tally.number, horizon, *claims))
        return found

    def _horizon(self, number: int) -> int:
        names = ", ".join(("channel", *ChannelRow._fields, "sum"))
        rows = self._connection.execute(f"SELECT {names} FROM channel_state WHERE channel = ?", (number,)).fetchall()
        if not rows or row_sum(rows[0][:-1]) != rows[0][-1]:
            return 0
        return ChannelRow(*rows[0][1:-1]).horizon

    def messages(self, number: int) -> Iterator[LogRowFound]:
        """Yield the log of a channel: messages with packets in order of arrival, then those without, in log order."""
        where = "a message"
        try:
            with as_store_error(self.path):
                kept_from = self._kept_from(number)
                for row in self._connection.execute(_MESSAGES, (first_place(number), last_place(number))):
                    where = f"message {row[3]}"
                    yield _found(row, kept_from)
                where = "a message"
                for one in dropped_packets.entries(self._connection, number, 0, MAX_LAMPORT):
                    known = (one.message_id, one.lamport, one.sender_id, one.dependencies, False, "live", one.lamport)
                    yield LogRowFound(*known, None, None, None, None, None, "")
        except UNREADABLE as error:
            raise ValueError(f"{where}: {error}") from error

    def _kept_from(self, number: int) -> int:
        """Return the Lamport time before which packets of others may have been dropped; 0 if it cannot be read, so that
        no lost packet is excused."""
        name = next((name for name, tally in self._tallies.items() if tally.number == number), "")
        try:
            return floor_of(UserState(self._connection, self.path), name).lamport
        except (StoreDamaged, ValueError, TypeError):
            return 0

    def declared(self, number: int) -> Iterator[BufferedRow]:
        with as_store_error(self.path):
            for row in self._connection.execute(_DECLARED, {"channel": number}):
                yield BufferedRow(*row)

    def journal(self) -> Iterator[JournalRow | AlteredRow]:
        names = {tally.number: name for name, tally in self._tallies.items()}
        where = "an event"
        try:
            with as_store_error(self.path):
                for row in self._connection.execute(f"SELECT {JOURNAL_COLUMNS} FROM journal ORDER BY place"):
                    node, boot = self._boots.get(row[0] >> PLACE_BITS, ("", ""))
                    where = f"event {row[0] & _SEQ_MASK} of boot {boot or '?'}"
                    if row_sum(row[:-1]) != row[-1]:
                        detail = "a row of the journal does not match its checksum"
                        yield AlteredRow(row[0] & _SEQ_MASK, boot, detail)
                    else:
                        yield journal_row(row, node, boot, names.get(row[1], ""))
        except UNREADABLE as error:
            raise ValueError(f"{where}: {error}") from error

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _found(row: Any, kept_from: int) -> LogRowFound:
    _, _, lamport, message_id, sender_id, dependencies, generation, own, via, received_at, checksum = row[:_WIDTH]
    raw, raw_sum, nick, text, verdict, sent_at, text_sum = row[_WIDTH : _WIDTH + 7]
    outgoing = row[_WIDTH + 7 :]
    damage = []
    if row_sum(row[: _WIDTH - 1]) != checksum:
        damage.append("its row in the log was altered")
        dependencies = dependencies if _is_ids(dependencies) else "[]"
    if raw is None:
        if own or (lamport >= kept_from and generation > WITHOUT_A_BODY):
            damage.append("its packet is gone")
    elif body_sum(message_id, raw) != raw_sum:
        damage.append("its packet was altered")
    if text_sum is not None and row_sum((message_id, row[0], nick, text, verdict, sent_at)) != text_sum:
        damage.append("its text was altered")
    state = None
    if outgoing[-1] is not None:
        if row_sum(outgoing[:-1]) == outgoing[-1]:
            state = AckState(outgoing[3])
        else:
            damage.append("what is known of its acknowledgement was altered")
    return LogRowFound(
        message_id,
        lamport,
        sender_id,
        load_ids(dependencies),
        bool(own),
        via,
        received_at,
        raw,
        nick,
        None if verdict == WITHHELD else text,
        sent_at,
        state,
        "; ".join(damage),
    )


def _is_ids(text: str) -> bool:
    try:
        return all(isinstance(each, str) for each in load_ids(text))
    except (ValueError, TypeError):
        return False


__all__ = ["AlteredRow", "AuditReader", "BufferedRow", "ChannelCounts", "ChannelTally", "LogRowFound"]
