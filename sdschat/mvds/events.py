"""Facts in the past tense. Nothing here is ever acted on by the engine itself."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.mvds.rows import RecordType
from sdschat.mvds.values import Message, Reason


class Delivered(NamedTuple):
    """A message was handed over: its own (`peer` is "") or a peer's."""

    message_id: bytes
    message: Message
    peer: str
    gap: tuple[bytes, ...]  # parents that are not here: given up, or not waited for


class EphemeralReceived(NamedTuple):
    message_id: bytes
    message: Message
    peer: str


class DuplicateReceived(NamedTuple):
    message_id: bytes
    peer: str


class Acknowledged(NamedTuple):
    """The peer holds the message: it said so, or gave it to us itself."""

    message_id: bytes
    peer: str


class ParentsMissing(NamedTuple):
    """A message waits."""

    message_id: bytes
    parents: tuple[bytes, ...]


class ParentsLost(NamedTuple):
    """Parents that messages waited for were given up."""

    parents: tuple[bytes, ...]


class PayloadSent(NamedTuple):
    """The payload of an epoch went out to a peer, in so many packets."""

    peer: str
    epoch: int
    packets: int
    bytes: int


class Expired(NamedTuple):
    """A record was sent as often as allowed and the peer never showed itself; it rests until the peer does."""

    message_id: bytes
    peer: str
    type: RecordType
    send_count: int


class BroughtForward(NamedTuple):
    """The peer showed itself, so its records need not wait for their epoch."""

    peer: str
    records: int
    resumed: int  # of them, how many had expired


class RecordDropped(NamedTuple):
    """`why`: no_body, too_large, left_group, cancelled."""

    message_id: bytes
    peer: str
    why: str


class Rejected(NamedTuple):
    """Something of what a peer sent was refused; one event a packet and reason."""

    peer: str
    reason: Reason
    times: int
    detail: str


Event = (
    Delivered
    | EphemeralReceived
    | DuplicateReceived
    | Acknowledged
    | ParentsMissing
    | ParentsLost
    | PayloadSent
    | Expired
    | BroughtForward
    | RecordDropped
    | Rejected
)
