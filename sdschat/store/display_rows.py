"""Messages and channels as a reader of the database gets them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sdschat.sds.values import AckState, OutgoingRow
from sdschat.store.columns import LOG_COLUMNS, body_sum, log_entry, row_sum

Key = tuple[int, str]  # Lamport time and id: the order of the log

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

    @property
    def key(self) -> Key:
        return self.lamport, self.message_id


class Ancestor(NamedTuple):
    """A message that another one depends on, directly or through others."""

    message_id: str
    status: str  # delivered, held, missing, lost, before_join, no_room or unknown
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
    """The message of a row of `SHOWN_COLUMNS`, and of (raw, sum) of its packet if wanted. Raises `Altered` if not even
    its position in the log is intact."""
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
