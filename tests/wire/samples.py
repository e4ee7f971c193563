"""Messages and packets for the tests of this folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from sdschat.sds.values import HistoryEntry, Message, Refusal
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.sds_pb2 import Message as PbMessage

CODEC: Final = SdsCodec()
VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def full_message() -> Message:
    """Return a message with every field set."""
    return Message(
        sender_id=digest("alice")[:32],
        message_id=digest("message"),
        channel_id="lobby",
        lamport_timestamp=1_760_331_342_969,
        causal_history=(
            HistoryEntry(digest("one"), b"hint", digest("bob")[:32]),
            HistoryEntry(digest("two")),
        ),
        bloom_filter=bytes(range(200)),
        repair_request=(HistoryEntry(digest("three"), None, digest("carol")[:32]),),
        content="grüße".encode(),
    )


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


def field(number: int, value: bytes | str | int) -> bytes:
    """Encode one field by hand: a number as varint, any other value with its length."""
    if isinstance(value, int):
        return tag(number, VARINT) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return tag(number, BYTES) + varint(len(data)) + data


def least(*more: bytes) -> bytes:
    """Return the shortest acceptable packet, with the test's further fields."""
    return field(1, "s") + field(2, "m") + field(3, "c") + field(10, 7) + b"".join(more)


def written_twice() -> dict[str, bytes]:
    """Return a packet for each field that a message has once: in the packet it is there twice."""
    found = {}
    for each in PbMessage.DESCRIPTOR.fields:
        value = getattr(PbMessage(), each.name)
        if isinstance(value, str | bytes | int):
            found[each.name] = least(2 * field(each.number, 7 if value == 0 else "x"))
    return found


def accepted(packet: bytes) -> Message:
    result = CODEC.decode(packet)
    assert isinstance(result, Message), result
    return result


def refused(packet: bytes, codec: SdsCodec = CODEC) -> Refusal:
    result = codec.decode(packet)
    assert isinstance(result, Refusal), result
    return result


def vectors() -> list[dict[str, Any]]:
    """Return packets of the TypeScript implementation, with their contents."""
    path = Path(__file__).parents[1] / "vectors" / "sds_js.json"
    messages: list[dict[str, Any]] = json.loads(path.read_text())["messages"]
    return messages
