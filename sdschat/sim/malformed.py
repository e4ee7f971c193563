"""Packets that break one rule each, by the reason for which a decoder refuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sdschat.sds import limits
from sdschat.sds.values import Codec, HistoryEntry, Message
from sdschat.sim.node import CHANNEL

_LENGTH: Final = 2  # wire type of protobuf: bytes with their length in front


def malformed(reason: str, codec: Codec, max_bytes: int, number: int) -> bytes:
    """A packet that is refused for this reason; each number is another packet."""
    return _MAKERS[reason](codec, max_bytes, f"malformed {number}")


def _message(name: str, **changes: object) -> Message:
    fields: dict[str, object] = {
        "sender_id": "z",
        "message_id": name,
        "channel_id": CHANNEL,
        "lamport_timestamp": 1,
        "content": name.encode(),
    }
    return Message(**(fields | changes))  # type: ignore[arg-type]


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | _LENGTH) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*made, value))


def _unreadable(codec: Codec, most: int, name: str) -> bytes:
    return b"\xff" * 5 + name.encode()


def _too_large(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, content=bytes(most)))


def _foreign_dialect(codec: Codec, most: int, name: str) -> bytes:
    """The field numbers of nim-sds: message_id 1, lamport_timestamp 2, channel_id 4."""
    return _field(1, name.encode()) + b"\x10\x05" + _field(4, CHANNEL.encode())


def _field_missing(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, sender_id=""))


def _field_too_long(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, sender_id="z" * (limits.MAX_SENDER_BYTES + 1)))


def _too_many_entries(codec: Codec, most: int, name: str) -> bytes:
    entries = tuple(HistoryEntry(f"{name} {at}") for at in range(limits.MAX_CAUSAL_HISTORY + 1))
    return codec.encode(_message(name, causal_history=entries))


def _duplicate_field(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name)) + _field(2, b"another id")


def _unknown_fields(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name)) + _field(99, bytes(limits.MAX_UNKNOWN_BYTES + 1))


def _no_kind(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, lamport_timestamp=None, content=None))


def _self_reference(codec: Codec, most: int, name: str) -> bytes:
    return codec.encode(_message(name, causal_history=(HistoryEntry(name),)))


_MAKERS: Final[dict[str, Callable[[Codec, int, str], bytes]]] = {
    "unreadable": _unreadable,
    "too_large": _too_large,
    "foreign_dialect": _foreign_dialect,
    "field_missing": _field_missing,
    "field_too_long": _field_too_long,
    "too_many_entries": _too_many_entries,
    "duplicate_field": _duplicate_field,
    "unknown_fields": _unknown_fields,
    "no_kind": _no_kind,
    "self_reference": _self_reference,
    "id_conflict": _unreadable,  # made of a message that its receiver has (acts.py)
}
MALFORMED: Final = tuple(_MAKERS)
