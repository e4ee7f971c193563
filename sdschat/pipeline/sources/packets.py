"""What a packet of a message says."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from sdschat.sds.values import Message, Refusal
from sdschat.wire.chat_codec import decode_envelope
from sdschat.wire.parts import Parts, parts
from sdschat.wire.sds_codec import SdsCodec

DIGEST_DIGITS: Final = 16
LARGEST: Final = 16 * 1024 * 1024  # whatever limit a node had: what it took is to be read here
CODEC: Final = SdsCodec(LARGEST)


class Opened(NamedTuple):
    """A packet of a message, taken apart."""

    message: Message | Refusal
    parts: Parts
    digest: str  # of the content
    text: str | None  # where the content is of our make

    def contradicts(self, message_id: str, lamport: int, sender: str, deps: tuple[str, ...]) -> str:
        """What the packet says otherwise than a row that is meant to be about it."""
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
    """Total: what is no packet is a refusal."""
    message = CODEC.decode(raw)
    content = b"" if isinstance(message, Refusal) else message.content or b""
    envelope = decode_envelope(content)
    return Opened(message, parts(raw), digest_of(content), None if envelope is None else envelope.text)


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGEST_DIGITS]
