"""Values of MVDS without behaviour, which every layer above can import at little cost."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol


class Moment(Protocol):
    """A moment by the caller's clocks. Protocol code never reads a clock itself.

    `wall` is epoch milliseconds and may jump; times that survive a restart are in it.
    `mono` is milliseconds on a clock that never jumps; the epochs of a running engine follow it.
    """

    @property
    def wall(self) -> int: ...

    @property
    def mono(self) -> int: ...


class Now(NamedTuple):
    """The plain `Moment`."""

    wall: int
    mono: int


class Mode(StrEnum):
    """Mode of sending a message (spec: Flow): offered first, or sent at once."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


class Metadata(NamedTuple):
    """`Metadata` of 4/MVDS-META. The message id does not cover it, so a peer that passes a message on could change it:
    the first one received is kept."""

    parents: tuple[bytes, ...] = ()
    ephemeral: bool = False


class Message(NamedTuple):
    """`Message` of the wire protocol."""

    group_id: bytes
    timestamp: int
    body: bytes
    metadata: Metadata | None = None

    @property
    def parents(self) -> tuple[bytes, ...]:
        return self.metadata.parents if self.metadata is not None else ()

    @property
    def ephemeral(self) -> bool:
        """The `ephemeral` flag of 4/MVDS-META: false by default, also without metadata."""
        return self.metadata is not None and self.metadata.ephemeral


class Payload(NamedTuple):
    """`Payload` of the wire protocol; each list can be empty (spec: Payloads)."""

    acks: tuple[bytes, ...] = ()
    offers: tuple[bytes, ...] = ()
    requests: tuple[bytes, ...] = ()
    messages: tuple[Message, ...] = ()


class Packet(NamedTuple):
    """One part of the payload of an epoch, for one peer. Its loss concerns no other peer."""

    peer: str
    payload: Payload


class Reason(StrEnum):
    """Reason for refusing input from outside. A test produces each value."""

    UNREADABLE = "unreadable"  # not protobuf
    TOO_LARGE = "too_large"
    FOREIGN_DIALECT = "foreign_dialect"  # readable only with the field numbers of the other dialect
    ID_LENGTH = "id_length"  # message ids are SHA-256: 32 bytes
    TOO_MANY_ENTRIES = "too_many_entries"
    UNKNOWN_FIELDS = "unknown_fields"  # more bytes of unknown fields than allowed
    NO_SHARED_GROUP = "no_shared_group"  # a peer that is in none of our groups
    NOT_IN_GROUP = "not_in_group"  # concerns a group that the peer is not in, or we are not
    REQUEST_QUOTA = "request_quota"  # too many offers of this peer, or parents, are waiting to be requested
    SERVE_QUOTA = "serve_quota"  # too many messages that the peer requested are waiting for it
    BUFFER_QUOTA = "buffer_quota"  # the peer's share of messages that wait for parents is used up
    UNKNOWN_MESSAGE = "unknown_message"  # the peer requests a message that is not stored


class Refusal(NamedTuple):
    """A packet that could not be decoded, with the reason."""

    reason: Reason
    detail: str = ""


class Codec(Protocol):
    """Bytes to values and back; `sdschat.wire` has the real one. `decode` is total: it never raises."""

    def encode(self, payload: Payload) -> bytes: ...

    def decode(self, packet: bytes) -> Payload | Refusal: ...


class MessageArchive(Protocol):
    """The delivered messages on disk: those of every `Keep` that `take` returned so far."""

    def holds(self, message_id: bytes) -> bool: ...

    def load(self, message_id: bytes) -> Message | None: ...
