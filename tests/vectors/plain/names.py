"""Ids, groups, hints, and the fingerprint of a log that checkpoints show; and payloads of MVDS."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b, sha256
from typing import Any

from tests.vectors.plain.proto import number, part, sized

Case = dict[str, Any]


def text_id(channel: str, sender: str, lamport: int, content: bytes) -> str:
    parts = [b"sdschat/text-id/1", channel.encode(), sender.encode(), lamport.to_bytes(8, "big"), content]
    return sha256(b"".join(len(one).to_bytes(8, "big") + one for one in parts)).hexdigest()


def history_group(channel: str) -> bytes:
    return sha256(b"sdschat/history/v1\0" + channel.encode()).digest()


def pair_group(channel: str, one: str, other: str) -> bytes:
    parts = [name.encode() for name in (channel, *sorted((one, other)))]
    return sha256(b"sdschat/direct/v1\0" + b"".join(len(name).to_bytes(4, "big") + name for name in parts)).digest()


def hint(store: str, place: int) -> bytes:
    return b"S1" + bytes.fromhex(store) + place.to_bytes(8, "big")


def log_fingerprint(log: Iterable[tuple[int, str]]) -> str:
    found = bytes(16)
    for lamport, message_id in log:
        one = blake2b(lamport.to_bytes(8, "big") + message_id.encode(), digest_size=16).digest()
        found = bytes(a ^ b for a, b in zip(found, one, strict=True))
    return found.hex()


def payload(case: Case, first: int, first_of_message: int) -> bytes:
    """An MVDS payload; the two dialects number their fields from 5001 and 6001, or from 1."""
    found = b""
    for at, name in enumerate(("acks", "offers", "requests")):
        found += b"".join(sized(first + at, bytes.fromhex(one)) for one in case[name])
    return found + b"".join(part(first + 3, message(one, first_of_message)) for one in case["messages"])


def message(case: Case, first: int) -> bytes:
    about = case["metadata"]
    metadata = b""
    if about is not None:
        parents = b"".join(sized(1, bytes.fromhex(one)) for one in about["parents"])
        metadata = part(first + 3, parents + number(2, about["ephemeral"]))
    group, body = bytes.fromhex(case["group_id"]), bytes.fromhex(case["body"])
    return sized(first, group) + number(first + 1, case["timestamp"]) + sized(first + 2, body) + metadata


def message_id(case: Case) -> str:
    group, body = bytes.fromhex(case["group_id"]), bytes.fromhex(case["body"])
    return sha256(b"MESSAGE_ID" + group + case["timestamp"].to_bytes(8, "little", signed=True) + body).hexdigest()
