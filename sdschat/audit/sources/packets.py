"""The content of message packets, and of the filters in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sdschat.audit.answers import FilterTrial
from sdschat.sds.bloom.compact import CompactFilter, read_filter
from sdschat.sds.bloom.waku import HASHES
from sdschat.sds.values import Message, Refusal
from sdschat.wire.chat_codec import OPERATION, Envelope, decode_envelope
from sdschat.wire.packet_parts import PacketParts, parts
from sdschat.wire.sds_codec import SdsCodec

DIGEST_DIGITS: Final = 16
LARGEST: Final = 16 * 1024 * 1024  # above the limit of any node: every packet that a node accepted can be read
CODEC: Final = SdsCodec(LARGEST)


class Opened(NamedTuple):
    """A decoded message packet."""

    message: Message | Refusal
    parts: PacketParts
    digest: str  # of the content
    text: str | None  # see `common_text`

    def contradicts(self, message_id: str, lamport: int, sender: str, deps: tuple[str, ...]) -> str:
        """Return the differences between the packet and its row, in words; empty if there are none."""
        message = self.message
        if isinstance(message, Refusal):
            return f"its packet cannot be read: {message.detail}"
        differing = [
            name
            for name, ours, theirs in (
                ("id", message_id, message.message_id),
                ("Lamport time", lamport, message.lamport_timestamp),
                ("sender", sender, message.sender_id),
                ("dependencies", deps, tuple(entry.message_id for entry in message.causal_history)),
            )
            if ours != theirs
        ]
        return f"its packet has another {' and '.join(differing)}" if differing else ""


def opened(raw: bytes) -> Opened:
    """Decode a packet. Never raises: bytes that are not a packet give a refusal."""
    message = CODEC.decode(raw)
    content = b"" if isinstance(message, Refusal) else message.content or b""
    envelope = decode_envelope(content)
    return Opened(message, parts(raw), digest_of(content), common_text(envelope))


def common_text(envelope: Envelope | None) -> str | None:
    """Return the text that every node has of a content. None for other makes, and for operations on the members of a
    private channel: their lines are in words, and may read differently at nodes that know less."""
    return None if envelope is None or envelope.kind == OPERATION else envelope.text


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGEST_DIGITS]


def tried(member: tuple[str, str, str], packets: Iterable[tuple[bytes, Sequence[str]]]) -> FilterTrial:
    """Test the filters of packets of a node (run, channel and node) with ids that they contain only by chance."""
    filters = checks = hits = 0
    expected = 0.0
    for raw, ids in packets:
        message = CODEC.decode(raw)
        if not isinstance(message, Message) or not message.bloom_filter or not ids:
            continue
        found = read_filter(message.bloom_filter)
        if isinstance(found, str):
            continue
        filters += 1
        checks += len(ids)
        hits += sum(map(found.holds, ids))
        hashes = found.hashes if isinstance(found, CompactFilter) else HASHES
        expected += len(ids) * found.fill**hashes
    return FilterTrial(*member, filters, checks, hits, expected)
