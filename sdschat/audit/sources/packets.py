"""The content of message packets."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

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
