"""MVDS payloads to bytes and back, in the spec's field numbers or those of the Go implementation.

Decoding is total and strict: a payload with any fault is refused as a whole, before anything changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from google.protobuf.message import DecodeError

from sdschat.mvds import limits
from sdschat.mvds.values import Message, Metadata, Payload, Reason, Refusal
from sdschat.wire import mvds_pb2 as pb


class Dialect(StrEnum):
    """A set of field numbers: 5001 and up, or 1 to 4. So no payload of one can be taken for one of the other."""

    SPEC = "spec"
    GO = "go"


AnyPayload = pb.Payload | pb.GoPayload
AnyMessage = pb.Message | pb.GoMessage

_PAYLOADS: dict[Dialect, type[pb.Payload] | type[pb.GoPayload]] = {
    Dialect.SPEC: pb.Payload,
    Dialect.GO: pb.GoPayload,
}
_OTHER = {Dialect.SPEC: Dialect.GO, Dialect.GO: Dialect.SPEC}


class MvdsCodec:
    """The `Codec` of `sdschat.mvds.values` for one dialect."""

    def __init__(self, dialect: Dialect = Dialect.SPEC, max_bytes: int = limits.MAX_PACKET_BYTES) -> None:
        self.dialect = dialect
        self.max_bytes = max_bytes

    def encode(self, payload: Payload) -> bytes:
        packet = _PAYLOADS[self.dialect](acks=payload.acks, offers=payload.offers, requests=payload.requests)
        for message in payload.messages:
            _fill(packet.messages.add(), message)
        return packet.SerializeToString()

    def decode(self, packet: bytes) -> Payload | Refusal:
        if len(packet) > self.max_bytes:
            return Refusal(Reason.TOO_LARGE, f"{len(packet)} bytes")
        parsed = _parse(packet, self.dialect)
        if parsed is None:
            return Refusal(Reason.UNREADABLE)
        known = parsed.ByteSize()
        parsed.DiscardUnknownFields()
        unknown = known - parsed.ByteSize()
        if _is_empty(parsed) and unknown and self._is_foreign(packet):
            return Refusal(Reason.FOREIGN_DIALECT, _OTHER[self.dialect])
        if unknown > limits.MAX_UNKNOWN_BYTES:
            return Refusal(Reason.UNKNOWN_FIELDS, f"{unknown} bytes")
        return _refuse(parsed) or _payload(parsed)

    def _is_foreign(self, packet: bytes) -> bool:
        """True if the other dialect reads acks, offers, requests or messages in it, without a fault."""
        other = _parse(packet, _OTHER[self.dialect])
        return other is not None and not _is_empty(other) and _refuse(other) is None


def _parse(packet: bytes, dialect: Dialect) -> AnyPayload | None:
    parsed = _PAYLOADS[dialect]()
    try:
        parsed.ParseFromString(packet)
    except (DecodeError, ValueError, RecursionError):
        return None
    return parsed


def _is_empty(parsed: AnyPayload) -> bool:
    return not (parsed.acks or parsed.offers or parsed.requests or parsed.messages)


def _fill(field: AnyMessage, message: Message) -> None:
    field.group_id = message.group_id
    field.timestamp = message.timestamp
    field.body = message.body
    if message.metadata is not None:
        field.metadata.SetInParent()
        field.metadata.parents.extend(message.metadata.parents)
        field.metadata.ephemeral = message.metadata.ephemeral


def _refuse(parsed: AnyPayload) -> Refusal | None:
    """Return a refusal for a value out of bounds. A group id may have any length: the engine knows its own groups."""
    for name, ids in (("acks", parsed.acks), ("offers", parsed.offers), ("requests", parsed.requests)):
        if not _are_ids(ids):
            return Refusal(Reason.ID_LENGTH, name)
    if len(parsed.messages) > limits.MAX_MESSAGES:
        return Refusal(Reason.TOO_MANY_ENTRIES, f"{len(parsed.messages)} messages")
    for message in parsed.messages:
        if len(message.metadata.parents) > limits.MAX_PARENTS:
            return Refusal(Reason.TOO_MANY_ENTRIES, f"{len(message.metadata.parents)} parents")
        if not _are_ids(message.metadata.parents):
            return Refusal(Reason.ID_LENGTH, "parents")
    return None


def _are_ids(ids: Iterable[bytes]) -> bool:
    return all(len(one) == limits.ID_BYTES for one in ids)


def _payload(parsed: AnyPayload) -> Payload:
    messages = tuple(_message(message) for message in parsed.messages)
    return Payload(tuple(parsed.acks), tuple(parsed.offers), tuple(parsed.requests), messages)


def _message(field: AnyMessage) -> Message:
    metadata = None
    if field.HasField("metadata"):
        metadata = Metadata(tuple(field.metadata.parents), field.metadata.ephemeral)
    return Message(field.group_id, field.timestamp, field.body, metadata)
