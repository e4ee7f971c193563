"""Message ids: two recipes that any peer can check, and telling them from foreign ones."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Final

from sdschat.sds.config import IdRule
from sdschat.sds.values import Message

_TEXT_TAG = b"sdschat/text-id/1"
_DIGEST: Final = re.compile("[0-9a-f]{64}")


def content_id(content: bytes) -> str:
    """Return the SHA-256 of the content, as other implementations do it too. Chat content holds a random nonce, so that
    the same text twice is two messages."""
    return sha256(content).hexdigest()


def text_id(channel_id: str, sender_id: str, lamport: int, content: bytes) -> str:
    """Return the id of a bare text, which has no nonce: SHA-256 over tag, channel, sender, Lamport timestamp and
    content, each with its length in front (8 bytes, big-endian)."""
    parts = (_TEXT_TAG, channel_id.encode(), sender_id.encode(), lamport.to_bytes(8, "big"), content)
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def message_id_for(rule: IdRule, channel_id: str, sender_id: str, lamport: int, content: bytes) -> str:
    if rule == "content":
        return content_id(content)
    return text_id(channel_id, sender_id, lamport, content)


def is_digest(message_id: str) -> bool:
    """True if an id looks like a SHA-256, so that some content may give it."""
    return _DIGEST.fullmatch(message_id) is not None


def recipe_of(message: Message) -> str:
    """Return the way the id of a message was made: content, text, or foreign."""
    content = message.content or b""
    if message.message_id == content_id(content):
        return "content"
    lamport = message.lamport_timestamp or 0
    if 0 <= lamport < 2**63 and message.message_id == text_id(message.channel_id, message.sender_id, lamport, content):
        return "text"
    return "foreign"
