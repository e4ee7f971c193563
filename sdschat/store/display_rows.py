"""What a reader of the database gets to see of messages and channels."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from sdschat.sds.rows import AckState, OutgoingRow
from sdschat.store.checksums import body_sum, row_sum
from sdschat.store.columns import LOG_COLUMNS, log_entry

Key = tuple[int, str]  # Lamport time and id: where a message stands in the log

_LOG: Final = ", ".join(f"log.{name}" for name in LOG_COLUMNS.split(", "))
_WIDTH: Final = LOG_COLUMNS.count(",") + 1
_TEXT: Final = "text.nick, text.text, text.verdict, text.sent_at, text.sum"
_OUTGOING: Final = ", ".join(f"outgoing.{name}" for name in ("channel", *OutgoingRow._fields, "sum"))
SHOWN_COLUMNS: Final = f"{_LOG}, {_TEXT}, {_OUTGOING}"
SHOWN_JOINS: Final = (
    "LEFT JOIN text ON text.place = log.place "
    "LEFT JOIN outgoing ON log.own = 1 AND outgoing.channel = log.channel AND outgoing.message_id = log.message_id"
)


class StoredMessage(NamedTuple):
    """A message of the log. Without `nick`, `text`, `verdict` and `sent_at` its content was not read yet."""

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
    sends: int  # how often an own message went out; 0 while it is queued
    raw: bytes | None  # the packet, where it was asked for
    damaged: str  # what of it was altered and is therefore not shown; empty where all is well

    @property
    def key(self) -> Key:
        return self.lamport, self.message_id


class Ancestor(NamedTuple):
    """A message that another one depends on, directly or through others."""

    message_id: str
    status: str  # delivered, held, missing, lost, before_join, no_room or unknown
    message: StoredMessage | None  # where delivered
    depth: int  # 1: named by the message itself


class MessageDetail(NamedTuple):
    """Everything about one message."""

    message: StoredMessage
    outgoing: OutgoingRow | None  # of an own message: acknowledgements, with the evidence
    ancestors: tuple[Ancestor, ...]  # nearest first
    truncated: bool  # there are more ancestors than were asked for


class ChannelInfo(NamedTuple):
    """A channel at a glance."""

    channel: str
    messages: int
    newest: int  # the highest Lamport time
    fingerprint: str  # of the log: equal logs, equal fingerprints
    draft: str
    unread: int
    open_outgoing: int  # own messages that are not acknowledged
    held: int
    missing: int
    lost: int  # dependencies that were given up
    peers: int


def shown(channel: str, row: Any, body: Any | None = None) -> StoredMessage:
    """From a row of `SHOWN_COLUMNS`, and (raw, sum) of the body where it was asked for. Raises `Altered` where not
    even its place in the log can be trusted."""
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
    return StoredMessage(
        channel, entry.message_id, entry.lamport, entry.sender_id, entry.dependencies, bool(row[7]), row[8], row[9],
        nick, text, verdict, sent_at, state, sends, raw, damaged,
    )  # fmt: skip
