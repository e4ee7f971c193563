"""SDS packets: `proto/sds.proto` to `sdschat.sds.values.Message` and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from google.protobuf.message import DecodeError

from sdschat.sds.limits import (
    MAX_CAUSAL_HISTORY,
    MAX_CHANNEL_BYTES,
    MAX_HINT_BYTES,
    MAX_ID_BYTES,
    MAX_REPAIR_ENTRIES,
    MAX_SENDER_BYTES,
)
from sdschat.sds.values import HistoryEntry, Message, Reason, Refusal
from sdschat.wire.names import has_control, longer_than, readable
from sdschat.wire.sds_pb2 import HistoryEntry as PbEntry
from sdschat.wire.sds_pb2 import Message as PbMessage
from sdschat.wire.sds_strict import examine, explain, foreign, refuse

_DEFAULT_MAX_MESSAGE_BYTES: Final = 65536


class SdsCodec:
    """The `Codec` of the engine. `decode` is total: any bytes give a message or a refusal, never an exception."""

    __slots__ = ("_max_message_bytes",)

    def __init__(self, max_message_bytes: int = _DEFAULT_MAX_MESSAGE_BYTES) -> None:
        self._max_message_bytes = max_message_bytes

    def encode(self, message: Message) -> bytes:
        """Return the packet. Empty fields are left out, since readers treat empty and absent alike."""
        packet = PbMessage(
            sender_id=message.sender_id,
            message_id=message.message_id,
            channel_id=message.channel_id,
            lamport_timestamp=message.lamport_timestamp,
            bloom_filter=message.bloom_filter or None,
            content=message.content or None,
        )
        if message.causal_history:
            add = packet.causal_history.add
            for message_id, hint, sender_id in message.causal_history:
                add(message_id=message_id, retrieval_hint=hint or None, sender_id=sender_id or None)
        if message.repair_request:
            add = packet.repair_request.add
            for message_id, hint, sender_id in message.repair_request:
                add(message_id=message_id, retrieval_hint=hint or None, sender_id=sender_id or None)
        return packet.SerializeToString()

    def size(self, message: Message) -> int:
        return len(self.encode(message))

    def decode(self, packet: bytes) -> Message | Refusal:
        """Return the message, or a refusal with its reason. The engine judges clock values and the channel's name."""
        size = len(packet)
        if size > self._max_message_bytes:
            return refuse(packet, Reason.TOO_LARGE, f"has {size} bytes; {self._max_message_bytes} are allowed")
        parsed = PbMessage()
        try:
            parsed.ParseFromString(packet)
        except (DecodeError, ValueError):  # protobuf in pure Python raises ValueError for bad UTF-8
            return explain(packet)
        sender_id, message_id, channel_id = parsed.sender_id, parsed.message_id, parsed.channel_id
        causal, repair = parsed.causal_history, parsed.repair_request
        if len(causal) > MAX_CAUSAL_HISTORY or len(repair) > MAX_REPAIR_ENTRIES:
            return _refusal(parsed, Reason.TOO_MANY_ENTRIES, _too_many(len(causal), len(repair)))
        # An unknown or repeated field, a wrong type or an overlong number makes a packet longer than its known fields.
        # So one comparison of lengths saves nearly every packet the slow examination.
        parsed.DiscardUnknownFields()
        if parsed.ByteSize() != size and (refusal := examine(packet)) is not None:
            return refusal
        if (bad := _bad_names(sender_id, message_id, channel_id)) is not None:
            return foreign(packet) or _refusal(parsed, *bad)
        history = _entries(causal) if causal else ()
        requests = _entries(repair) if repair else ()
        if history is None or requests is None:
            return _refusal(parsed, *_bad_entry(parsed))
        for entry in history:
            if entry[0] == message_id:
                return _refusal(parsed, Reason.SELF_REFERENCE, "names itself in its causal history")
        lamport: int | None = parsed.lamport_timestamp
        if not lamport and not parsed.HasField("lamport_timestamp"):
            lamport = None
        content = parsed.content or None
        if lamport is None and content is None:
            return _refusal(parsed, Reason.NO_KIND, "has neither content nor a Lamport timestamp")
        bloom_filter = parsed.bloom_filter or None  # of any form: the engine reports the ones that it cannot use
        return Message(sender_id, message_id, channel_id, lamport, history, bloom_filter, requests, content)


def _bad_names(sender_id: str, message_id: str, channel_id: str) -> tuple[Reason, str] | None:
    if not (sender_id and message_id and channel_id):
        missing = "sender_id" if not sender_id else "message_id" if not message_id else "channel_id"
        return Reason.FIELD_MISSING, f"{missing} is missing"
    return (
        _bad_name("message_id", message_id, MAX_ID_BYTES)
        or _bad_name("sender_id", sender_id, MAX_SENDER_BYTES)
        or _bad_name("channel_id", channel_id, MAX_CHANNEL_BYTES)
    )


def _bad_name(name: str, text: str, limit: int) -> tuple[Reason, str] | None:
    if longer_than(text, limit):
        return Reason.FIELD_TOO_LONG, f"{name} has more than {limit} bytes"
    if has_control(text):
        return Reason.UNREADABLE, f"{name} holds a control character"
    return None


def _entries(parsed: Iterable[PbEntry]) -> tuple[HistoryEntry, ...] | None:
    """Return the entries, each id once, or None if an entry has an id that no message could have.

    A hint or a sender that no message could have is dropped without refusing the packet: its sender may only pass on an
    entry made by someone else.
    """
    kept: dict[str, HistoryEntry] = {}
    for entry in parsed:
        message_id = entry.message_id
        if not message_id or longer_than(message_id, MAX_ID_BYTES) or has_control(message_id):
            return None
        hint = entry.retrieval_hint or None
        if hint is not None and len(hint) > MAX_HINT_BYTES:
            hint = None
        sender_id = entry.sender_id or None
        if sender_id is not None and (longer_than(sender_id, MAX_SENDER_BYTES) or has_control(sender_id)):
            sender_id = None
        if message_id not in kept:
            kept[message_id] = HistoryEntry(message_id, hint, sender_id)
    return tuple(kept.values())


def _bad_entry(parsed: PbMessage) -> tuple[Reason, str]:
    """Return reason and detail of the entry for which `_entries` returned None."""
    both: tuple[tuple[str, Sequence[PbEntry]], ...] = (
        ("causal_history", parsed.causal_history),
        ("repair_request", parsed.repair_request),
    )
    for name, entries in both:
        for place, entry in enumerate(entries):
            label = f"{name}[{place}].message_id"
            if not entry.message_id:
                return Reason.FIELD_MISSING, f"{label} is missing"
            if (bad := _bad_name(label, entry.message_id, MAX_ID_BYTES)) is not None:
                return bad
    raise AssertionError("no entry is bad")


def _too_many(causal: int, repair: int) -> str:
    if causal > MAX_CAUSAL_HISTORY:
        return f"causal_history has {causal} entries; {MAX_CAUSAL_HISTORY} are allowed"
    return f"repair_request has {repair} entries; {MAX_REPAIR_ENTRIES} are allowed"


def _refusal(parsed: PbMessage, reason: Reason, detail: str) -> Refusal:
    sender_id, message_id = parsed.sender_id, parsed.message_id
    return Refusal(reason, detail, readable(sender_id, MAX_SENDER_BYTES), readable(message_id, MAX_ID_BYTES))
