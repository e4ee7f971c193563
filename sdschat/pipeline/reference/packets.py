"""Rows of the log with their packets, as far as they are the same at several nodes: each is looked at once."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.pipeline.reference.witness import Version
from sdschat.pipeline.sources.packets import CODEC, digest_of
from sdschat.sds.values import Message
from sdschat.store.columns import load_ids
from sdschat.store.sums import body_sum
from sdschat.wire.chat_codec import decode_envelope

# message_id, lamport, sender_id, dependencies as they are in the row, the packet, the text that is shown
Shared = tuple[str, int, str, str, bytes | None, str | None]


class Sum(NamedTuple):
    version: Version
    body: int | None  # the checksum that the packet should have


class Contradiction(Exception):
    """A packet is not that of its row."""


class Packets(dict[Shared, Sum]):
    """Raises Contradiction when it is asked for a row that its packet does not bear out."""

    def __init__(self) -> None:
        super().__init__()
        self._versions: dict[Version, Version] = {}

    def __missing__(self, row: Shared) -> Sum:
        message_id, lamport, sender, listed, raw, text = row
        deps = load_ids(listed)
        digest = "" if raw is None else _digest(raw, (message_id, lamport, sender, deps), text)
        version = Version(lamport, sender, deps, digest)
        found = Sum(self._versions.setdefault(version, version), None if raw is None else body_sum(message_id, raw))
        self[row] = found
        return found


def _digest(raw: bytes, row: tuple[str, int, str, tuple[str, ...]], text: str | None) -> str:
    message = CODEC.decode(raw)
    if not isinstance(message, Message):
        raise Contradiction
    deps = tuple(entry.message_id for entry in message.causal_history)
    if (message.message_id, message.lamport_timestamp, message.sender_id, deps) != row:
        raise Contradiction
    content = message.content or b""
    envelope = decode_envelope(content)
    if text is not None and envelope is not None and envelope.text is not None and envelope.text != text:
        raise Contradiction
    return digest_of(content)
