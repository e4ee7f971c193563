"""The journal of a node: one row for each event, for audits and for people who look for a cause.

The columns are stable; a newer program may add some at the end. All times are epoch milliseconds, except `mono_us`.

| column | meaning |
|---|---|
| `v` | version of these columns, 1 |
| `node`, `boot`, `seq` | participant id; id of this run of the program; 1, 2, 3 … without a gap within a boot |
| `channel` | its id; empty for events of no channel |
| `event` | `delivered`, `sent`, `acked` … : `EVENT_NAMES`, `sent` for a packet that left, `checkpoint` |
| `message_id`, `sender`, `lamport` | the message that the event is about, as far as the event has them |
| `peer` | sender of the packet that caused it: of the acknowledgement, the request, the filter |
| `ts_ms`, `mono_us` | wall clock, and a clock that never jumps, in microseconds |
| `bytes` | of the packet, on the wire |
| `payload_bytes`, `overhead_bytes` | content, and everything else in the packet, where both are known |
| `deps` | ids: the causal history, or the missing, lost or requested messages |
| `attempt` | number of sendings; time of a scheduled event, in ms; number of `rejected`, `kept_as_id`, `duplicate` |
| `cause` | `via` of a delivery, reason of a rejection, kind of packet or of evidence |
| `messages`, `fingerprint` | of a checkpoint: messages in the log, and their fingerprint; `lamport`: the highest |

`here` and `left`: the participant `sender` came or went, by its presence. `here` with our own id: this run connected
for the first time, and nobody is known to be here before a row of their own.

In members' channels `messages` is the number of operations that the member has settled. `settled`: a checkpoint, with
its hash in `fingerprint`; `peer`: who gave the state, if it was taken over. `member`: `peer` is a `member` from now on,
was `removed`, or has `left`. `ballot`: `peer` was voted out for silence by the members in `deps`, of which `attempt`
were needed; its operations up to number `lamport` count. `post_deleted`: the post `message_id` was taken
back, and that is settled.

Two nodes whose checkpoints have the same number, highest Lamport time and fingerprint have the same log in the same
order, because the order follows from the messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sdschat.sds import events as ev
from sdschat.sds.values import AckState, Append, Message, Now

if TYPE_CHECKING:
    from sdschat.sds.state import Ready

VERSION: Final = 1
KEEP_MS: Final = 30 * 24 * 3600 * 1000  # journal.keep
FINGERPRINT_BYTES: Final = 16
CHECKPOINT: Final = "checkpoint"
REJECTED: Final = "rejected"
DUPLICATE: Final = "duplicate"
SETTLED: Final = "settled"
MEMBER: Final = "member"
BALLOT: Final = "ballot"
DELETED: Final = "post_deleted"
KEPT_AS_ID: Final = "kept_as_id"
HERE: Final = "here"
LEFT: Final = "left"


class JournalRow(NamedTuple):
    """One event; the columns are described above. The store sets `node`, `boot` and `seq` when it saves the row."""

    event: str
    channel: str
    ts_ms: int
    mono_us: int
    message_id: str | None = None
    sender: str | None = None
    lamport: int | None = None
    peer: str | None = None
    bytes: int | None = None
    payload_bytes: int | None = None
    overhead_bytes: int | None = None
    deps: tuple[str, ...] | None = None
    attempt: int | None = None
    cause: str | None = None
    messages: int | None = None
    fingerprint: str | None = None
    node: str = ""
    boot: str = ""
    seq: int = 0
    v: int = VERSION


# Events of the engine: the name in the journal, and the column for each field of the event.
EVENT_NAMES: Final[dict[type, tuple[str, dict[str, str]]]] = {
    ev.MessageRetired: ("left_outgoing", {"message_id": "message_id"}),
    ev.DependenciesMissing: ("missing", {"message_id": "message_id", "dependencies": "deps"}),
    ev.DependenciesLost: ("lost", {"dependencies": "deps"}),
    ev.GapClosed: ("gap_closed", {"message_id": "message_id"}),
    ev.MessageDeferred: ("parked", {"message_id": "message_id", "sender_id": "sender", "due": "attempt"}),
    ev.DuplicateReceived: (DUPLICATE, {"message_id": "message_id", "sender_id": "sender"}),
    ev.SyncReceived: ("sync_received", {"sender_id": "peer"}),
    ev.RepairWanted: ("repair_wanted", {"message_id": "message_id", "due": "attempt"}),
    ev.RepairRequested: ("repair_requested", {"carrier": "message_id", "message_ids": "deps"}),
    ev.RepairScheduled: (
        "repair_scheduled",
        {"message_id": "message_id", "due": "attempt", "requested_by": "peer"},
    ),
    ev.RepairResponded: ("repair_responded", {"message_id": "message_id"}),
    ev.RepairCancelled: ("repair_cancelled", {"message_id": "message_id", "reason": "cause"}),
    ev.PushScheduled: ("push_scheduled", {"message_id": "message_id", "due": "attempt", "wanted_by": "peer"}),
    ev.Pushed: ("pushed", {"message_id": "message_id"}),
    ev.PushCancelled: ("push_cancelled", {"message_id": "message_id", "reason": "cause"}),
    ev.RangeDiffered: ("range_differed", {"sender_id": "peer", "low": "lamport"}),
    ev.FilterIgnored: ("filter_ignored", {"sender_id": "peer", "reason": "cause"}),
    ev.FilterRolled: ("filter_rolled", {"generation": "attempt", "floor": "lamport"}),
    ev.FilterFormatChanged: ("layout_changed", {"filter_format": "cause"}),
    ev.ClockAhead: ("clock_ahead", {"lamport": "lamport", "ahead": "attempt"}),
    ev.Rejected: (REJECTED, {"message_id": "message_id", "sender_id": "sender", "reason": "cause"}),
}


def hash_text(value: bytes) -> str:
    """Return a hash as the journal has it: as long as a fingerprint."""
    return value[:FINGERPRINT_BYTES].hex()


def journal_rows(event: ev.Event, *, channel: str, now: Now, size: int | None = None) -> JournalRow | None:
    """Return the row of one engine event; None if the row of the packet has the same information. `size`: bytes of the
    packet that carried the message, if known."""
    at = JournalRow("", channel, now.wall, now.mono * 1000)
    if isinstance(event, ev.Delivered):
        return _of_message(at._replace(event="delivered", cause=event.source), event.message, size)
    if isinstance(event, ev.EphemeralReceived):
        return _of_message(at._replace(event="ephemeral"), event.message, size)
    if isinstance(event, ev.KeptAsId):
        return at._replace(event=KEPT_AS_ID, sender=event.message.sender_id)
    if isinstance(event, ev.StateChanged):
        if event.evidence is None:
            return None
        return at._replace(
            event=AckState(event.state).name.lower() if event.evidence.signed else "unproven",
            message_id=event.message_id,
            peer=event.evidence.sender_id,
            attempt=event.resends,
            cause=event.evidence.how,
        )
    if isinstance(event, ev.SyncSent | ev.MessageResent):
        return None
    name, fields = EVENT_NAMES[type(event)]
    values: dict[str, Any] = {column: getattr(event, source) for source, column in fields.items()}
    if "cause" in values:
        values["cause"] = str(values["cause"])
    return at._replace(event=name, **values)


def _of_message(row: JournalRow, message: Message, size: int | None) -> JournalRow:
    payload = len(message.content or b"")
    return row._replace(
        message_id=message.message_id,
        sender=message.sender_id,
        lamport=message.lamport_timestamp,
        bytes=size,
        payload_bytes=payload,
        overhead_bytes=None if size is None else size - payload,
        deps=tuple(entry.message_id for entry in message.causal_history),
    )


def journal_of(channel: str, ready: Ready, now: Now) -> list[JournalRow]:
    """Return the rows of one step of a channel: its packets, then its events."""
    sizes = {write.row.entry.message_id: len(write.row.raw) for write in ready.writes if isinstance(write, Append)}
    payloads: dict[str, int] = {}
    attempts: dict[str, int] = {}
    events: list[JournalRow] = []
    for event in ready.events:
        if isinstance(event, ev.Delivered) and event.own:
            payloads[event.message.message_id] = len(event.message.content or b"")
        elif isinstance(event, ev.MessageResent):
            attempts[event.message_id] = event.sends
        size = sizes.get(event.message.message_id) if isinstance(event, ev.Delivered) else None
        row = journal_rows(event, channel=channel, now=now, size=size)
        if row is not None:
            events.append(row)
    sent: list[JournalRow] = []
    for packet in ready.packets:
        size = len(packet.raw)
        payload = 0 if packet.kind == "sync" else payloads.get(packet.message_id)
        sent.append(
            JournalRow(
                "sent",
                channel,
                now.wall,
                now.mono * 1000,
                packet.message_id,
                bytes=size,
                payload_bytes=payload,
                overhead_bytes=None if payload is None else size - payload,
                attempt=attempts.get(packet.message_id, 1),
                cause=packet.kind,
            )
        )
    return sent + events


def fingerprint_step(fingerprint: int, lamport: int, message_id: str) -> int:
    """Return the fingerprint with one message more, at any position in the log.

    The fingerprint of a log is the exclusive or, over its messages, of BLAKE2b-128 of the Lamport time in 8 bytes,
    big-endian, and the id.
    """
    place = lamport.to_bytes(8, "big") + message_id.encode()
    return fingerprint ^ int.from_bytes(blake2b(place, digest_size=FINGERPRINT_BYTES).digest(), "big")


LINE_ORDER: Final = (  # of the columns, in a line of JSON
    "v",
    "node",
    "boot",
    "seq",
    "ts_ms",
    "mono_us",
    "channel",
    "event",
    "message_id",
    "sender",
    "lamport",
    "peer",
    "bytes",
    "payload_bytes",
    "overhead_bytes",
    "deps",
    "attempt",
    "cause",
    "messages",
    "fingerprint",
)


def json_lines(rows: Iterable[JournalRow]) -> Iterator[str]:
    """Yield each row as one line of JSON, every column in it, without the end of the line."""
    for row in rows:
        yield json.dumps({name: getattr(row, name) for name in LINE_ORDER}, separators=(",", ":"))


def fingerprint_text(fingerprint: int) -> str:
    """Return a fingerprint as hex digits, as it is shown, compared and written."""
    return fingerprint.to_bytes(FINGERPRINT_BYTES, "big").hex()
