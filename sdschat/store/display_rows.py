"""Messages and channels, and direct messages, as a reader of the database gets them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from sdschat.sds.values import AckState, OutgoingRow
from sdschat.store.columns import LOG_COLUMNS, body_sum, log_entry, row_sum

Key = tuple[int, str]  # Lamport time and id: the order of the log

UNREAD_COUNTED: Final = 1000  # more unread messages are not counted

_LOG: Final = ", ".join(f"log.{name}" for name in LOG_COLUMNS.split(", "))
_WIDTH: Final = LOG_COLUMNS.count(",") + 1
_TEXT: Final = "text.nick, text.text, text.verdict, text.sent_at, text.sum"
_OUTGOING: Final = ", ".join(f"outgoing.{name}" for name in ("channel", *OutgoingRow._fields, "sum"))
SHOWN_COLUMNS: Final = f"{_LOG}, {_TEXT}, {_OUTGOING}"
SHOWN_JOINS: Final = (
    "LEFT JOIN text ON text.place = log.place "
    "LEFT JOIN outgoing ON log.own = 1 AND outgoing.channel = log.channel AND outgoing.message_id = log.message_id"
)


class DisplayMessage(NamedTuple):
    """A message of the log. `nick`, `text`, `verdict` and `sent_at` are None until its content is opened."""

    channel: str
    message_id: str
    lamport: int
    sender_id: str
    dependencies: tuple[str, ...]
    own: bool
    via: str
    received_at: int
    nick: str | None
    text: str | None
    verdict: str | None
    sent_at: int | None
    state: AckState | None  # of own messages
    sends: int  # number of sendings of an own message; 0 while it is queued
    raw: bytes | None  # the packet, if the query wants it
    damaged: str  # the part that was altered and is therefore not shown, in words; empty if all is intact
    kind: int = 0  # of its content, as its packet has it: the database keeps no column of it, nor of `reply_to`
    reply_to: str = ""  # id of the message that it answers

    @property
    def key(self) -> Key:
        return self.lamport, self.message_id


class Ancestor(NamedTuple):
    """A message that another one depends on, directly or through others."""

    message_id: str
    status: str  # delivered, id_alone, held, missing, lost, unproven or unknown
    message: DisplayMessage | None  # if delivered
    depth: int  # 1: named by the message itself


class MessageDetail(NamedTuple):
    """Everything about one message."""

    message: DisplayMessage
    outgoing: OutgoingRow | None  # of an own message: acknowledgements, with the evidence
    ancestors: tuple[Ancestor, ...]  # nearest first
    truncated: bool  # True if there are more ancestors than requested


class ChannelInfo(NamedTuple):
    """A channel with its counts."""

    channel: str
    messages: int  # in the log
    newest: int  # the highest Lamport time
    fingerprint: str  # of the log: equal logs, equal fingerprints
    draft: str  # text of the input line
    unread: int  # messages of others after the read mark, at most `UNREAD_COUNTED`
    open_outgoing: int  # own messages that are not acknowledged
    held: int  # messages in the incoming buffer
    missing: int  # dependencies that are not received
    lost: int  # dependencies that were given up
    peers: int  # participants heard


def shown(channel: str, row: Any, body: Any | None = None) -> DisplayMessage:
    """Return the message of a row of `SHOWN_COLUMNS`, and of (raw, sum) of its packet if wanted. Raises `RowAltered`
    if not even its position in the log is intact."""
    entry = log_entry(row[:_WIDTH])
    nick, text, verdict, sent_at, checksum = row[_WIDTH : _WIDTH + 5]
    outgoing = row[_WIDTH + 5 :]
    damaged, state, sends = "", None, 0
    if outgoing[-1] is not None:
        if row_sum(outgoing[:-1]) == outgoing[-1]:
            state, sends = AckState(outgoing[3]), outgoing[4]
        else:
            damaged = "what is known of its acknowledgement was altered on disk"
    if checksum is not None and row_sum((entry.message_id, row[0], nick, text, verdict, sent_at)) != checksum:
        nick = text = verdict = sent_at = None
        damaged = "its text was altered on disk"
    raw: bytes | None = None
    if body is not None:
        raw, raw_checksum = body
        if raw is not None and body_sum(entry.message_id, raw) != raw_checksum:
            raw, damaged = None, "its packet was altered on disk"
    return DisplayMessage(
        channel,
        entry.message_id,
        entry.lamport,
        entry.sender_id,
        entry.dependencies,
        bool(row[7]),
        row[8],
        row[9],
        nick,
        text,
        verdict,
        sent_at,
        state,
        sends,
        raw,
        damaged,
    )


COLUMNS: Final = "channel, message_id, peer, own, nick, text, kind, sent_at, received_at, state, reply_to, verdict"
# Parents that the message was delivered without and that have not come since, out of the rows of the protocol.
_GAP: Final = (
    "(SELECT group_concat(parent.value, ' ') FROM mvds_message AS child, "
    "json_each(CASE WHEN json_valid(child.gap) THEN child.gap ELSE '[]' END) AS parent "
    "WHERE child.channel = direct.channel AND child.message_id = direct.message_id AND NOT EXISTS "
    "(SELECT 1 FROM mvds_message AS came WHERE came.channel = child.channel AND came.message_id = parent.value))"
)
READ: Final = f"{COLUMNS}, {_GAP}, sum"
_AFTER: Final = f"SELECT place, {READ} FROM direct WHERE channel = ? AND place > ? ORDER BY place"


class DirectRow(NamedTuple):
    """One direct message, our own or received. Times are epoch milliseconds."""

    message_id: str
    peer: str  # participant id of the other one
    own: bool
    nick: str  # of the author
    text: str
    kind: int
    sent_at: int
    received_at: int
    state: int  # 0: not acknowledged; 2: acknowledged by the reader
    reply_to: str  # message id, or ""
    verdict: str
    gap: tuple[str, ...] = ()  # messages that were given up before it; not a column of its own


def sound_row(values: Any) -> DirectRow | None:
    """Return the row of what `READ` selects; None if the disk has altered it."""
    *columns, gap, checksum = values
    if row_sum(columns) != checksum:
        return None
    row = DirectRow(*columns[1:])
    return row._replace(own=bool(row.own), gap=tuple((gap or "").split()))


def rows_after(connection: sqlite3.Connection, number: int, place: int) -> Iterator[tuple[int, DirectRow]]:
    """Yield the rows of a channel after a place, each with its own place, in order of arrival."""
    for at, *values in connection.execute(_AFTER, (number, place)):
        row = sound_row(values)
        if row is not None:
            yield at, row
