"""A packet explained: its dialect, its fields, its content, and the rules of the spec that it breaks.

Rules are numbered in the order in which the specification states them; tests/spec/README.md lists them. These are the
rules that one packet alone can break.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sdschat.identity.content import envelope_of, open_content
from sdschat.identity.key_book import KeyBook
from sdschat.identity.place import forged, is_placed, refusal_of
from sdschat.node.channel.proofs import decode_proven
from sdschat.node.view.timber_report import timber_report
from sdschat.sds.bloom.compact import read_filter
from sdschat.sds.describe import describe_filter
from sdschat.sds.ids import recipe_of
from sdschat.sds.limits import clock_refusal
from sdschat.sds.values import Codec, HistoryEntry, Message, MessageKind, Reason, Refusal
from sdschat.wire.chat_codec import decode_envelope, is_ours
from sdschat.wire.dialects import SPEC, UNKNOWN, DialectReading, counts_from_zero, read_any
from sdschat.wire.nim_fields import LEAST_MS
from sdschat.wire.protobuf_scan import BYTES, VARINT, Malformed, fields
from sdschat.wire.sds_codec import SdsCodec

# The rule behind a reason. Any other reason is one of nodes alone, and stands in the place of a rule.
_RULES: Final[dict[Reason, str]] = {
    Reason.UNREADABLE: "S-001",
    Reason.DUPLICATE_FIELD: "S-001",
    Reason.OTHER_CHANNEL: "S-004",
    Reason.CLOCK_ZERO: "S-010",
    Reason.CLOCK_TOO_LARGE: "S-010",
}
_NAMED_ANYWAY: Final = (Reason.FOREIGN_DIALECT, Reason.FIELD_MISSING, Reason.NO_KIND, Reason.SELF_REFERENCE)
_MANY_REQUESTS: Final = 3
Broken = tuple[str, str]  # a rule, and what of the packet breaks it


def broken_rules(reading: DialectReading, refusal: Refusal | None) -> list[Broken]:
    """List every rule that a packet breaks. `refusal`: the reason for which nodes refuse it, if they do."""
    found = [("S-001", what) for what in reading.departures] + message_rules(reading.message)
    if refusal is not None and refusal.reason not in _NAMED_ANYWAY:
        rule = _RULES.get(refusal.reason, str(refusal.reason))
        if rule not in [known for known, _ in found]:
            found.insert(0, (rule, refusal.detail or str(refusal.reason)))
    return found


def message_rules(message: Message) -> list[Broken]:
    """List the rules that the values of a message break."""
    return [*_of_ids(message), *_of_kind(message), *_of_entries(message)]


def _of_ids(message: Message) -> Iterator[Broken]:
    for rule, name, text in (
        ("S-002", "sender_id", message.sender_id),
        ("S-003", "message_id", message.message_id),
        ("S-004", "channel_id", message.channel_id),
    ):
        if not text:
            yield rule, f"{name} is missing"


def _of_kind(message: Message) -> Iterator[Broken]:
    lamport, kind = message.lamport_timestamp, message.kind
    if kind is MessageKind.NEITHER:
        yield "S-009", "the message has neither content nor a Lamport timestamp"
    if lamport is not None:
        if (refusal := clock_refusal(message)) is not None:
            yield _RULES[refusal.reason], f"lamport_timestamp is {lamport}, which no clock shows"
        elif lamport < LEAST_MS:
            yield "S-010", f"lamport_timestamp is {lamport}, which is not epoch milliseconds"
    if kind in (MessageKind.CONTENT, MessageKind.SYNC) and message.bloom_filter is None:
        yield "S-024" if kind is MessageKind.CONTENT else "S-051", "bloom_filter is missing"
    if kind is MessageKind.EPHEMERAL and (message.causal_history or message.bloom_filter is not None):
        yield "S-061", "an ephemeral message has a causal history or a filter"


def _of_entries(message: Message) -> Iterator[Broken]:
    for name, entries in (("causal_history", message.causal_history), ("repair_request", message.repair_request)):
        for place, entry in enumerate(entries):
            if not entry.message_id:
                yield "S-001", f"{name}[{place}].message_id is missing, for which nim-sds 0.4 drops the whole message"
    if message.message_id and any(entry.message_id == message.message_id for entry in message.causal_history):
        yield "S-021", "the message names itself in its causal history"
    if len(message.repair_request) > _MANY_REQUESTS:
        yield "S-075", f"repair_request has {len(message.repair_request)} entries; 3 are recommended"


SOUND: Final = "sound"  # it breaks no rule that one packet can show
BROKEN: Final = "broken"
NO_PACKET: Final = "no_packet"
_PLAIN: Final = SdsCodec()


def _utc(milliseconds: int) -> str:
    """Return a time as a date in UTC; one outside the calendar as milliseconds."""
    try:
        return (
            datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        )
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms"


def judged(packet: bytes, codec: Codec = _PLAIN, channel: str = "", *, signatures: bool = True) -> Message | Refusal:
    """Decode a packet as every node does that has this codec: refuse it if that needs no log and no known keys.

    `channel`: that of its topic, if it is known. Without `signatures`, none is verified.
    """
    message = decode_proven(packet, codec).message if signatures else codec.decode(packet)
    if isinstance(message, Refusal):
        return message
    refusal = refusal_of(message)
    if refusal is None and signatures and is_placed(message):
        refusal = forged(message)
    if refusal is None and channel and message.channel_id != channel:
        what = f"channel_id is {message.channel_id}, on the topic of {channel}"
        refusal = Refusal(Reason.OTHER_CHANNEL, what, message.sender_id, message.message_id)
    return refusal or clock_refusal(message) or message


def packet_report(
    packet: bytes, codec: Codec = _PLAIN, channel: str = "", *, signatures: bool = True
) -> dict[str, Any]:
    """Explain a packet, as JSON has it: `verdict`, dialect, fields, content, the rules that it breaks.

    `accepted`: nodes take it (`judged`); by default, those with default settings. Without `signatures`, that of the
    content is not checked, which takes longer than all the rest.
    """
    timber = timber_report(packet)
    if timber is not None:
        return timber
    plain = _PLAIN.decode(packet)
    taken = judged(packet, codec, channel, signatures=signatures)
    if isinstance(plain, Message) and not counts_from_zero(plain.lamport_timestamp):
        reading: DialectReading | None = DialectReading(SPEC, plain, ())
    else:
        reading = read_any(packet)
    report: dict[str, Any] = {"verdict": NO_PACKET, "accepted": isinstance(taken, Message), "bytes": len(packet)}
    if isinstance(taken, Refusal):
        report |= {"reason": str(taken.reason), "detail": taken.detail}
    if reading is None:
        what = plain.detail if isinstance(plain, Refusal) else "is no message of any dialect"
        return report | {"dialect": UNKNOWN, "broken_rules": [{"rule": "S-001", "what": what}]}
    refusal = next((each for each in (taken, plain) if isinstance(each, Refusal)), None)
    broken = broken_rules(reading, refusal)
    report["verdict"] = SOUND if refusal is None and not broken else BROKEN
    report |= _described(reading, signatures)
    report["broken_rules"] = [{"rule": rule, "what": what} for rule, what in broken]
    if notes := list(_notes(reading.message)):
        report["notes"] = notes
    return report


def _notes(message: Message) -> Iterator[str]:
    """Yield what nodes leave out of account in a message that they take."""
    if message.bloom_filter is not None and isinstance(why := read_filter(message.bloom_filter), str):
        yield f"bloom_filter is ignored: {why}"


def _described(reading: DialectReading, signatures: bool) -> dict[str, Any]:
    message = reading.message
    found: dict[str, Any] = {
        "dialect": reading.dialect,
        "kind": str(message.kind),
        "sender_id": message.sender_id,
        "message_id": message.message_id,
        "channel_id": message.channel_id,
        "lamport_timestamp": message.lamport_timestamp,
        "causal_history": [_entry(entry) for entry in message.causal_history],
        "repair_request": [_entry(entry) for entry in message.repair_request],
        "bloom_filter": describe_filter(message.bloom_filter, _utc),
    }
    if message.content:
        found["id_recipe"] = recipe_of(message)
        found["content"] = _content(message) if signatures else _unchecked(message)
    return found


class FieldPart(NamedTuple):
    """One field as it lies in the packet."""

    number: int
    name: str
    size: int  # of the whole field, with its tag and length
    value: str  # in short


_FIELDS: Final = {
    1: "sender_id",
    2: "message_id",
    3: "channel_id",
    10: "lamport_timestamp",
    11: "causal_history",
    12: "bloom_filter",
    13: "repair_request",
    20: "content",
    15001: "sync_proof",
}
_TEXTS: Final = ("sender_id", "message_id", "channel_id")


def packet_fields(packet: bytes) -> list[FieldPart]:
    """Return the fields in the order in which they lie there. What is no field any more is one part called `rest`."""
    found: list[FieldPart] = []
    at = 0
    try:
        for field in fields(packet):
            name = _FIELDS.get(field.number, "unknown")
            value = _field_value(name, field.wire, packet[field.body : field.end])
            found.append(FieldPart(field.number, name, field.end - field.start, value))
            at = field.end
    except Malformed as error:
        found.append(FieldPart(0, "rest", len(packet) - at, str(error)))
    return found


def _field_value(name: str, wire: int, body: bytes) -> str:
    if wire == VARINT:
        return str(_varint(body))
    if wire != BYTES:
        return body.hex()
    if name in ("causal_history", "repair_request"):
        return _entry_id(body)
    if name == "bloom_filter":
        return describe_filter(body, _utc)
    return _readable(body) if name in _TEXTS else _shortened(body)


def _entry(entry: HistoryEntry) -> dict[str, Any]:
    found: dict[str, Any] = {"message_id": entry.message_id}
    if entry.sender_id is not None:
        found["sender_id"] = entry.sender_id
    if entry.retrieval_hint is not None:
        found["retrieval_hint"] = entry.retrieval_hint.hex()
    return found


def answered_by(raw: bytes | None) -> str:
    """Return the id of the message that a packet answers; empty if none, or if its content is sealed."""
    envelope = envelope_of(SdsCodec(), raw)
    return "" if envelope is None else envelope.reply_to


def _content(message: Message) -> dict[str, Any]:
    content = message.content or b""
    opened = open_content(content, message.channel_id, message.sender_id, message.message_id, KeyBook())
    found: dict[str, Any] = {"format": "chat" if is_ours(content) else "text"}
    if opened.text is None:
        found["base64"] = base64.b64encode(content).decode()
    else:
        found["text"] = opened.text
    if opened.author_key:
        found |= {"nick": opened.nick, "author_key": opened.author_key.hex(), "sent_time": opened.sent_time}
    found["signature"] = "valid" if opened.verdict.signed else str(opened.verdict)
    refusal = refusal_of(message) if opened.verdict.signed else None
    if refusal is not None:
        found |= {"signature": "altered", "why": refusal.detail}
    elif opened.why:
        found["why"] = opened.why
    return found


def _unchecked(message: Message) -> dict[str, Any]:
    """Do what `_content` does, for a content of our own make; any other has no signature to check."""
    envelope = decode_envelope(message.content or b"")
    if envelope is None:
        return _content(message)
    return {
        "format": "chat",
        "text": envelope.text,
        "nick": envelope.nick,
        "author_key": envelope.author_key.hex(),
        "sent_time": envelope.sent_time,
        "signature": "unchecked",
    }


def _entry_id(body: bytes) -> str:
    try:
        first = next((field for field in fields(body) if field.number == 1 and field.wire == BYTES), None)
    except Malformed:
        first = None
    return _readable(body) if first is None else _readable(body[first.body : first.end])


def _varint(body: bytes) -> int:
    return sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(body))


def _readable(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.hex()


def _shortened(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return f"{len(body)} bytes {body[:32].hex()}"
