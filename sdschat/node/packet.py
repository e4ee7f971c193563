"""A packet explained: its fields, its content, and the rules of the spec that it breaks."""

from __future__ import annotations

import base64
from typing import Any, Final, NamedTuple

from sdschat.identity.book import KeyBook
from sdschat.identity.content import open_content
from sdschat.sds.clock import out_of_bounds
from sdschat.sds.describe import describe_filter
from sdschat.sds.ids import recipe_of
from sdschat.sds.values import Codec, HistoryEntry, Kind, Message, Reason, Refusal
from sdschat.wire.chat_codec import MAGIC
from sdschat.wire.scan import BYTES, VARINT, Malformed, fields
from sdschat.wire.sds_codec import SdsCodec

# Rules are numbered S-001 to S-087 in the order in which the specification states them; tests/spec proves each.
_RULES: Final[dict[Reason, str]] = {
    Reason.UNREADABLE: "S-001",
    Reason.FOREIGN_DIALECT: "S-001",
    Reason.DUPLICATE_FIELD: "S-001",
    Reason.FIELD_MISSING: "S-001",
    Reason.NO_KIND: "S-009",
    Reason.SELF_REFERENCE: "S-021",
    Reason.CLOCK_ZERO: "S-010",
    Reason.CLOCK_TOO_LARGE: "S-010",
}
_MISSING: Final = {"sender_id": "S-002", "message_id": "S-003", "channel_id": "S-004"}
_LEAST_MS: Final = 10**11  # an epoch time below is in seconds: in milliseconds it would be before 1974
_MANY_REQUESTS: Final = 3
_NIM: Final = {
    1: "message_id", 2: "lamport_timestamp", 3: "causal_history", 4: "channel_id", 5: "content", 6: "bloom_filter",
    7: "sender_id", 13: "repair_request",
}  # fmt: skip


def packet_report(packet: bytes, codec: Codec | None = None) -> dict[str, Any]:
    """Everything about a packet, as JSON has it."""
    message = (codec or SdsCodec()).decode(packet)
    if isinstance(message, Refusal):
        return _refused(packet, message)
    report: dict[str, Any] = {
        "accepted": True, "bytes": len(packet), "dialect": "spec", "kind": str(message.kind),
        "sender_id": message.sender_id, "message_id": message.message_id, "channel_id": message.channel_id,
        "lamport_timestamp": message.lamport_timestamp,
        "causal_history": [_entry(entry) for entry in message.causal_history],
        "repair_request": [_entry(entry) for entry in message.repair_request],
        "bloom_filter": describe_filter(message.bloom_filter),
    }  # fmt: skip
    if message.content:
        report["id_recipe"] = recipe_of(message)
        report["content"] = _content(message)
    report["broken_rules"] = [{"rule": rule, "what": what} for rule, what in broken_rules(message)]
    return report


class FieldPart(NamedTuple):
    """One field as it lies in the packet."""

    number: int
    name: str
    kind: str
    start: int
    size: int  # of the whole field, with its tag and length
    value: str  # in short


_FIELDS: Final = {
    1: "sender_id", 2: "message_id", 3: "channel_id", 10: "lamport_timestamp", 11: "causal_history",
    12: "bloom_filter", 13: "repair_request", 20: "content",
}  # fmt: skip
_KINDS: Final = {VARINT: "varint", BYTES: "bytes"}
_TEXTS: Final = ("sender_id", "message_id", "channel_id")


def packet_fields(packet: bytes) -> list[FieldPart]:
    """The fields in the order in which they lie there. What is no field any more is one part called `rest`."""
    found: list[FieldPart] = []
    at = 0
    try:
        for field in fields(packet):
            name = _FIELDS.get(field.number, "unknown")
            kind = _KINDS.get(field.wire, f"wire type {field.wire}")
            value = _field_value(name, field.wire, packet[field.body : field.end])
            found.append(FieldPart(field.number, name, kind, field.start, field.end - field.start, value))
            at = field.end
    except Malformed as error:
        found.append(FieldPart(0, "rest", "none", at, len(packet) - at, str(error)))
    return found


def _field_value(name: str, wire: int, body: bytes) -> str:
    if wire == VARINT:
        return str(_varint(body))
    if wire != BYTES:
        return body.hex()
    if name in ("causal_history", "repair_request"):
        return _nim_entry(body)
    if name == "bloom_filter":
        return describe_filter(body)
    return _readable(body) if name in _TEXTS else _shortened(body)


def broken_rules(message: Message) -> list[tuple[str, str]]:
    """What can be told from one packet alone."""
    found: list[tuple[str, str]] = []
    lamport, kind = message.lamport_timestamp, message.kind
    if lamport is not None:
        if (reason := out_of_bounds(lamport)) is not None:
            found.append((_RULES[reason], f"lamport_timestamp is {lamport}, which no clock shows"))
        elif lamport < _LEAST_MS:
            found.append(("S-010", f"lamport_timestamp is {lamport}, which is not epoch milliseconds"))
    if kind in (Kind.CONTENT, Kind.SYNC) and message.bloom_filter is None:
        rule = "S-024" if kind is Kind.CONTENT else "S-051"
        found.append((rule, "bloom_filter is missing"))
    if kind is Kind.EPHEMERAL and (message.causal_history or message.bloom_filter is not None):
        found.append(("S-061", "an ephemeral message has a causal history or a filter"))
    if any(entry.message_id == message.message_id for entry in message.causal_history):
        found.append(("S-021", "the message names itself in its causal history"))
    if len(message.repair_request) > _MANY_REQUESTS:
        found.append(("S-075", f"repair_request has {len(message.repair_request)} entries; 3 are recommended"))
    return found


def _refused(packet: bytes, refusal: Refusal) -> dict[str, Any]:
    rule = _RULES.get(refusal.reason, "")
    if refusal.reason is Reason.FIELD_MISSING:
        rule = _MISSING.get(refusal.detail.partition(" ")[0], rule)
    foreign = refusal.reason is Reason.FOREIGN_DIALECT
    report: dict[str, Any] = {
        "accepted": False, "bytes": len(packet), "dialect": "nim-sds" if foreign else "unknown",
        "reason": str(refusal.reason), "detail": refusal.detail, "sender_id": refusal.sender_id,
        "message_id": refusal.message_id,
    }  # fmt: skip
    if foreign:
        report["fields"] = _nim_fields(packet)
    report["broken_rules"] = [{"rule": rule, "what": refusal.detail or str(refusal.reason)}] if rule else []
    return report


def _entry(entry: HistoryEntry) -> dict[str, Any]:
    found: dict[str, Any] = {"message_id": entry.message_id}
    if entry.sender_id is not None:
        found["sender_id"] = entry.sender_id
    if entry.retrieval_hint is not None:
        found["retrieval_hint"] = entry.retrieval_hint.hex()
    return found


def _content(message: Message) -> dict[str, Any]:
    content = message.content or b""
    opened = open_content(content, message.channel_id, message.sender_id, message.message_id, KeyBook())
    found: dict[str, Any] = {"format": "chat" if content.startswith(MAGIC) else "text"}
    if opened.text is None:
        found["base64"] = base64.b64encode(content).decode()
    else:
        found["text"] = opened.text
    if opened.author_key:
        found |= {"nick": opened.nick, "author_key": opened.author_key.hex(), "sent_time": opened.sent_time}
    found["signature"] = "valid" if opened.verdict.signed else str(opened.verdict)
    if opened.why:
        found["why"] = opened.why
    return found


def _nim_fields(packet: bytes) -> dict[str, Any]:
    """What a packet of nim-sds says, under the names of the specification."""
    found: dict[str, Any] = {}
    try:
        for field in fields(packet):
            name = _NIM.get(field.number, f"field_{field.number}")
            body = packet[field.body : field.end]
            if field.wire == VARINT:
                found[name] = _varint(body)
            elif field.wire == BYTES and name in ("causal_history", "repair_request"):
                found.setdefault(name, []).append(_nim_entry(body))
            elif field.wire == BYTES:
                found[name] = _readable(body) if name.endswith("_id") else _shortened(body)
    except Malformed:
        found["broken_off"] = True
    return found


def _nim_entry(body: bytes) -> str:
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
