"""Recorded packets of a tap as rows of the lake."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from sdschat.audit.schemas import Packet
from sdschat.audit.sources.packets import LARGEST, Opened, opened
from sdschat.catchup.values import RefusedFrame
from sdschat.sds.values import MessageKind, Refusal
from sdschat.wire.catchup_codec import PAGES, Records, SyncCodec

_TOPICS: Final = {
    "presence": re.compile(r"/who/[^/]+$"),
    "store_query": re.compile(r"/store/query/[^/]+$"),
    "store_answer": re.compile(r"/store/answer/[^/]+$"),
}
_BETWEEN_TWO: Final = re.compile(r"/sync/[^/]+/[^/]+$")
_BETWEEN: Final = SyncCodec(LARGEST)


def other_kind(topic: str, raw: bytes) -> str:
    """Return the kind of a packet outside the topic of messages, by the end of its topic: a prefix has any length."""
    for kind, end in _TOPICS.items():
        if end.search(topic):
            return kind
    if not _BETWEEN_TWO.search(topic):
        return "other"
    found = _BETWEEN.decode(raw)
    if isinstance(found, RefusedFrame):
        return "other"
    return "comparison" if not isinstance(found, Records) else "page" if found.lane == PAGES else "direct"


Head = tuple[str, str, int, int, str, str]  # run_id, tap, seq, ts_ms, topic, channel


def packet_row(head: Head, raw: bytes, open_packet: Callable[[bytes], Opened] = opened) -> Packet:
    """Return the row of a packet. Only the topic of messages carries SDS; other packets have only kind and bytes."""
    if not head[4].endswith("/msg"):
        return Packet(*head, other_kind(head[4], raw), None, None, None, None, (), (), len(raw), 0, 0, 0, 0, raw)
    known = open_packet(raw)
    message = known.message
    if isinstance(message, Refusal):
        named = (message.message_id or None, message.sender_id or None, None)
        return Packet(*head, "refused", str(message.reason), *named, (), (), len(raw), *known.parts, raw)
    kind = "message" if message.kind is MessageKind.CONTENT else str(message.kind)
    deps = tuple(entry.message_id for entry in message.causal_history)
    requests = tuple(entry.message_id for entry in message.repair_request)
    ids = (message.message_id, message.sender_id, message.lamport_timestamp)
    return Packet(*head, kind, None, *ids, deps, requests, len(raw), *known.parts, raw)
