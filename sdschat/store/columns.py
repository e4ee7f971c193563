"""Rows of `sdschat.sds.values` as rows of SQL and back, one shape a table; and checksums of rows.

A row altered by the disk is noticed before it is used. SQLite checks the structure of its pages but not the values in
them. CRC-32 finds every single flipped byte. It protects against accidents only: a program that can write the file can
also make the checksum fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple
from zlib import crc32

from sdschat.sds.values import (
    AckState,
    AnswerRow,
    ChannelRow,
    Codec,
    Entry,
    Evidence,
    GapRow,
    HintRow,
    IncomingRow,
    LogRow,
    Message,
    MissingRow,
    OutgoingRow,
    PeerRow,
    PushRow,
    Row,
    Table,
)

SqlValue = str | int | float | bytes | None


def row_sum(values: Iterable[SqlValue]) -> int:
    """Return the checksum of a row. Bytes count by a checksum of their own: their text form would be four times as
    long."""
    parts = [str(crc32(value)) if type(value) is bytes else str(value) for value in values]
    return crc32("\x1f".join(parts).encode("utf-8", "surrogatepass"))


def small_sum(values: Iterable[SqlValue]) -> int:
    """Return `row_sum` as a number with a sign, which SQLite keeps in four bytes; one without a sign takes six, every
    other time."""
    total = row_sum(values)
    return total - (1 << 32) if total >= 1 << 31 else total


def body_sum(message_id: str, raw: SqlValue) -> int:
    """Return the checksum of a packet, bound to the id of its message; -1, which no packet has, where a damaged row
    holds none."""
    return crc32(raw, crc32(message_id.encode())) if isinstance(raw, bytes) else -1


SqlRow = tuple[SqlValue, ...]


class RowAltered(ValueError):
    """A row of the database was altered."""


class BufferShape(NamedTuple):
    """SQL form of one buffer. Its columns are channel, the row's key, the rest of the row, sum."""

    table: str
    columns: tuple[str, ...]
    to_sql: Callable[[Any], SqlRow]
    from_sql: Callable[[Any, Codec], Row]

    @property
    def select(self) -> str:
        return f"SELECT place, channel, {', '.join(self.columns)}, sum FROM {self.table}"

    @property
    def upsert(self) -> str:
        """Insert or replace a row; a replaced row keeps its place."""
        places = ", ".join("?" * (len(self.columns) + 2))
        updates = ", ".join(f"{name} = excluded.{name}" for name in (*self.columns[1:], "sum"))
        return (
            f"INSERT INTO {self.table} (channel, {', '.join(self.columns)}, sum) VALUES ({places}) "
            f"ON CONFLICT (channel, {self.columns[0]}) DO UPDATE SET {updates}"
        )

    @property
    def delete(self) -> str:
        return f"DELETE FROM {self.table} WHERE channel = ? AND {self.columns[0]} = ?"

    def values(self, channel: int, row: Row) -> SqlRow:
        values = (channel, *self.to_sql(row))
        return (*values, row_sum(values))

    def row(self, selected: SqlRow, codec: Codec) -> Row:
        """Return the row of selected values. Raises `RowAltered`, and nothing else, for a row that `values` did not
        make."""
        if row_sum(selected[1:-1]) != selected[-1]:
            raise RowAltered(f"a row of {self.table} does not match its checksum")
        return self.from_sql(selected[2:-1], codec)


dump: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def dump_plain(value: Any) -> str:
    """Return a value as JSON: bytes become hexadecimal digits."""
    return dump(_for_json(value))


def _for_json(value: Any) -> Any:
    """Return a value for JSON: bytes become hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    return [_for_json(one) for one in value] if isinstance(value, tuple) else value


def dump_ids(ids: tuple[str, ...]) -> str:
    """Return the ids as JSON. Nearly every id is hex digits, which need no escapes."""
    if not ids:
        return "[]"
    return '["' + '","'.join(ids) + '"]' if "".join(ids).isalnum() else dump(ids)


def load_ids(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def _held_to_sql(row: IncomingRow) -> SqlRow:
    times = (row.generation, row.received_at, row.release_at)
    return (row.message.message_id, row.raw, row.source, *times, dump_ids(row.gap))


def _held_from_sql(values: Any, codec: Codec) -> IncomingRow:
    message_id, raw, via, generation, received_at, release_at, gap = values
    message = codec.decode(raw)
    if not isinstance(message, Message) or message.message_id != message_id:
        raise RowAltered(f"the buffered packet of {message_id} does not decode to it")
    return IncomingRow(message, raw, via, generation, received_at, release_at, load_ids(gap))


def _outgoing_to_sql(row: OutgoingRow) -> SqlRow:
    evidence = dump(row.evidence) if row.evidence else "[]"
    return (row.message_id, row.lamport, int(row.state), row.sends, row.due, evidence)


def _outgoing_from_sql(values: Any, codec: Codec) -> OutgoingRow:
    message_id, lamport, state, sends, due, evidence = values
    found = () if evidence == "[]" else tuple(Evidence(*item) for item in json.loads(evidence))
    return OutgoingRow(message_id, lamport, AckState(state), sends, due, found)


def _push_to_sql(row: PushRow) -> SqlRow:
    return (row.message_id, row.lamport, dump_ids(row.wanted_by), row.due, row.pushes, row.not_before)


def _push_from_sql(values: Any, codec: Codec) -> PushRow:
    message_id, lamport, wanted_by, due, pushes, not_before = values
    return PushRow(message_id, lamport, load_ids(wanted_by), due, pushes, not_before)


def _answer_to_sql(row: AnswerRow) -> SqlRow:
    return (row.message_id, row.requested_by, row.due, row.at, row.asked, dump_ids(row.lacked_by), row.called_off)


def _answer_from_sql(values: Any, codec: Codec) -> AnswerRow:
    message_id, requested_by, due, at, asked, lacked_by, called_off = values
    return AnswerRow(message_id, requested_by, due, at, asked, load_ids(lacked_by), called_off)


def _plain(table: Table, kind: type[MissingRow | GapRow | PeerRow | HintRow]) -> BufferShape:
    """Return the shape of a buffer with rows that need no conversion."""
    return BufferShape(str(table), kind._fields, tuple, lambda values, codec: kind(*values))


SHAPES: Final[dict[Table, BufferShape]] = {
    Table.INCOMING: BufferShape(
        "held",
        ("message_id", "raw", "via", "generation", "received_at", "release_at", "gap"),
        _held_to_sql,
        _held_from_sql,
    ),
    Table.OUTGOING: BufferShape("outgoing", OutgoingRow._fields, _outgoing_to_sql, _outgoing_from_sql),
    Table.MISSING: _plain(Table.MISSING, MissingRow),
    Table.GAP: _plain(Table.GAP, GapRow),
    Table.ANSWER: BufferShape("answer", AnswerRow._fields, _answer_to_sql, _answer_from_sql),
    Table.PUSH: BufferShape("push", PushRow._fields, _push_to_sql, _push_from_sql),
    Table.PEER: _plain(Table.PEER, PeerRow),
    Table.HINT: _plain(Table.HINT, HintRow),
}

_STATE_COLUMNS: Final = ChannelRow._fields
STATE_SELECT: Final = f"SELECT channel, {', '.join(_STATE_COLUMNS)}, sum FROM channel_state WHERE channel = ?"
STATE_REPLACE: Final = (
    f"INSERT INTO channel_state (channel, {', '.join(_STATE_COLUMNS)}, sum) "
    f"VALUES ({', '.join('?' * (len(_STATE_COLUMNS) + 2))}) ON CONFLICT (channel) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in (*_STATE_COLUMNS, "sum"))
)

LOG_COLUMNS: Final = (
    "place, channel, lamport, message_id, sender_id, dependencies, generation, own, via, received_at, sum"
)
LOG_INSERT: Final = f"INSERT INTO log ({LOG_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
BODY_INSERT: Final = "INSERT INTO body (place, raw, sum) VALUES (?, ?, ?)"


def log_values(place: int, channel: int, row: LogRow) -> SqlRow:
    lamport, message_id, sender_id, dependencies, generation = row.entry
    values = (
        place,
        channel,
        lamport,
        message_id,
        sender_id,
        dump_ids(dependencies),
        generation,
        int(row.own),
        row.source,
        row.received_at,
    )
    return (*values, row_sum(values))


def log_entry(values: Any) -> Entry:
    """Return the entry in a row of `LOG_COLUMNS`. Raises `RowAltered`, and nothing else."""
    if row_sum(values[:10]) != values[10]:
        raise RowAltered("a row of the log does not match its checksum")
    return Entry(values[2], values[3], values[4], load_ids(values[5]), values[6])
