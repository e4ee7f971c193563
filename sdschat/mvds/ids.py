"""Message identifiers (2/MVDS, Payloads)."""

from __future__ import annotations

from hashlib import sha256

from sdschat.mvds.values import Message


def message_id(message: Message) -> bytes:
    """HASH("MESSAGE_ID", group_id, timestamp, body) with SHA-256.

    The spec leaves the encoding open. This is that of the Go implementation: concatenation, with the timestamp as 8
    bytes little-endian. It is unambiguous only because groups of any other length than 32 are refused.
    """
    stamp = message.timestamp.to_bytes(8, "little", signed=True)
    return sha256(b"MESSAGE_ID" + message.group_id + stamp + message.body).digest()
