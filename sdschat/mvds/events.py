"""Events that the engine reports, named in the past tense. The engine itself never acts on one."""

from __future__ import annotations

from typing import NamedTuple

from sdschat.mvds.values import Message, Reason, RecordType


class Delivered(NamedTuple):
    """A message was delivered: our own (`peer` is "") or a peer's."""

    message_id: bytes
    message: Message
    peer: str
    gap: tuple[bytes, ...]  # parents that are not delivered: given up, or not waited for


class EphemeralReceived(NamedTuple):
    message_id: bytes
    message: Message
    peer: str


class DuplicateReceived(NamedTuple):
    message_id: bytes
    peer: str


class Acknowledged(NamedTuple):
    """The peer holds the message: it acknowledged it, or sent it to us itself."""

    message_id: bytes
    peer: str


class ParentsMissing(NamedTuple):
    """A message waits for these parents."""

    message_id: bytes
    parents: tuple[bytes, ...]


class ParentsLost(NamedTuple):
    """Parents that messages waited for were given up."""

    parents: tuple[bytes, ...]


class PayloadSent(NamedTuple):
    """The payload of an epoch was made for a peer."""

    peer: str
    epoch: int
    packets: int  # number of packets that it was split into
    bytes: int


class Expired(NamedTuple):
    """A record was sent as often as allowed without contact; it rests until the next contact with the peer."""

    message_id: bytes
    peer: str
    type: RecordType
    send_count: int


class BroughtForward(NamedTuple):
    """Records were made due at once, because there was contact with the peer."""

    peer: str
    records: int
    resumed: int  # number of them that had expired


class RecordDropped(NamedTuple):
    """A record was removed unanswered. `why`: no_body, too_large, left_group, cancelled."""

    message_id: bytes
    peer: str
    why: str


class Rejected(NamedTuple):
    """A part of a payload was refused, `times` times: one event for each payload, reason and detail."""

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
