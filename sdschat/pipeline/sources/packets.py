"""What a packet says, in the columns of the lake."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from sdschat.catchup.values import Refused
from sdschat.pipeline.schemas import Packet
from sdschat.sds.values import Kind, Message, Refusal
from sdschat.wire.catchup_codec import PAGES, Records, SyncCodec
from sdschat.wire.chat_codec import decode_envelope
from sdschat.wire.parts import Parts, parts
from sdschat.wire.sds_codec import SdsCodec

DIGEST_DIGITS: Final = 16
_LARGEST: Final = 16 * 1024 * 1024  # whatever limit a node had: what it took is to be read here
CODEC: Final = SdsCodec(_LARGEST)
_TOPICS: Final = {
    "presence": re.compile(r"/who/[^/]+$"),
    "store_query": re.compile(r"/store/query/[^/]+$"),
    "store_answer": re.compile(r"/store/answer/[^/]+$"),
}
_BETWEEN_TWO: Final = re.compile(r"/sync/[^/]+/[^/]+$")
_BETWEEN: Final = SyncCodec(_LARGEST)


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


def other_kind(topic: str, raw: bytes) -> str:
    """Of a packet that is not on the topic of messages. A prefix has any number of levels, so it is told by the end."""
    for kind, end in _TOPICS.items():
        if end.search(topic):
            return kind
    if not _BETWEEN_TWO.search(topic):
        return "other"
    found = _BETWEEN.decode(raw)
    if isinstance(found, Refused):
        return "other"
    return "comparison" if not isinstance(found, Records) else "page" if found.lane == PAGES else "direct"


Head = tuple[str, str, int, int, str, str]  # run_id, tap, seq, ts_ms, topic, channel


def packet_row(head: Head, raw: bytes, open_packet: Callable[[bytes], Opened] = opened) -> Packet:
    """What a tap recorded. Only the topic of messages carries SDS; of the rest there are the kind and the bytes."""
    if not head[4].endswith("/msg"):
        return Packet(*head, other_kind(head[4], raw), None, None, None, None, (), (), len(raw), 0, 0, 0, 0, raw)
    known = open_packet(raw)
    message = known.message
    if isinstance(message, Refusal):
        named = (message.message_id or None, message.sender_id or None, None)
        return Packet(*head, "refused", str(message.reason), *named, (), (), len(raw), *known.parts, raw)
    kind = "message" if message.kind is Kind.CONTENT else str(message.kind)
    deps = tuple(entry.message_id for entry in message.causal_history)
    requests = tuple(entry.message_id for entry in message.repair_request)
    ids = (message.message_id, message.sender_id, message.lamport_timestamp)
    return Packet(*head, kind, None, *ids, deps, requests, len(raw), *known.parts, raw)
