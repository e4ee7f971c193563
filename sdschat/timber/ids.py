"""Hashes of Timber: ids of members, events, operations and posts, the bytes that are signed, the distance of ids."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sdschat.timber.values import PostId

EVENT_DOMAIN: Final = b"sdschat/timber/event/v1\0"
OPERATION_DOMAIN: Final = b"sdschat/timber/operation/v1\0"

_POST_DOMAIN: Final = b"sdschat/timber/post/v1\0"
_DRAFT_DOMAIN: Final = b"sdschat/timber/draft/v1\0"
_SENDER_ID_BYTES: Final = 16


def member_id(key: bytes) -> bytes:
    return sha256(key).digest()


def event_bytes(data_set: bytes, raw: bytes) -> bytes:
    """Return the bytes that an author signs. They name the data set, so that no event counts in another one."""
    return EVENT_DOMAIN + data_set + raw


def operation_bytes(data_set: bytes, raw: bytes) -> bytes:
    """Return the bytes that a writer signs. The data set of the first operation is empty: its id names the data set."""
    return OPERATION_DOMAIN + data_set + raw


def event_id(data_set: bytes, raw: bytes) -> bytes:
    return sha256(EVENT_DOMAIN + data_set + raw).digest()


def operation_id(data_set: bytes, raw: bytes) -> bytes:
    return sha256(OPERATION_DOMAIN + data_set + raw).digest()


def distance(one: bytes, other: bytes) -> int:
    """Return `one XOR other` as a number."""
    return int.from_bytes(one, "big") ^ int.from_bytes(other, "big")


def checksum(ids: Iterable[bytes]) -> bytes:
    return sha256(b"".join(ids)).digest()


def chained(before: bytes, operation: bytes) -> bytes:
    """Return the checkpoint's hash chain with one more operation."""
    return sha256(before + operation).digest()


def running_hashes(ids: Iterable[bytes], interval: int) -> tuple[bytes, ...]:
    """Return the running SHA-256 over ids, taken at every `interval`-th and at the end: 29 ids, interval 8: 4."""
    if interval < 1 or interval & (interval - 1):
        raise ValueError(f"an interval of {interval}; it must be a power of two")
    running, found, count = sha256(), [], 0
    for one in ids:
        count += 1
        running.update(one)
        if count % interval == 0:
            found.append(running.digest())
    if count % interval:
        found.append(running.digest())
    return tuple(found)


def interval_for(count: int) -> int:
    """Return the power of two nearest to the square root of `count`."""
    root = count**0.5
    power = 1
    while power * 2 <= root:
        power *= 2
    return power * 2 if power * 2 - root < root - power else power


def sender_of(member: bytes) -> str:
    """Return the sender id of a member id: its first digits."""
    return member[:_SENDER_ID_BYTES].hex()


def message_id_of(data_set: bytes, name: PostId) -> str:
    """Return the message id of a post, or of another event: the same on every replica."""
    return sha256(_POST_DOMAIN + data_set + name.author.to_bytes(8) + name.number.to_bytes(8)).hexdigest()


def draft_id_of(data_set: bytes, member: bytes, number: int) -> str:
    """Return the message id of what waits until we are a member."""
    return sha256(_DRAFT_DOMAIN + data_set + member + number.to_bytes(8)).hexdigest()
