"""The values that MVDS speaks of. They carry no behaviour, so that every layer above can import them cheaply."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol


class Moment(Protocol):
    """A moment, as the caller's clocks show it. Protocol code never reads a clock itself.

    `wall` is epoch milliseconds and may jump; what outlives a restart is kept in it.
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
    """How a message is given to a peer (spec: Flow): offered first, or sent at once."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


class Metadata(NamedTuple):
    """`Metadata` of 4/MVDS-META. It is not covered by the message id, so whoever passes a message on could change it:
    the first one to come is kept."""

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
        """4/MVDS-META: false by default, also where there is no metadata at all."""
        return self.metadata is not None and self.metadata.ephemeral


class Payload(NamedTuple):
    """`Payload` of the wire protocol; each list can be empty (spec: Payloads)."""

    acks: tuple[bytes, ...] = ()
    offers: tuple[bytes, ...] = ()
    requests: tuple[bytes, ...] = ()
    messages: tuple[Message, ...] = ()


class Packet(NamedTuple):
    """One part of the payload of an epoch, for one peer. What happens to it concerns no other peer."""

    peer: str
    payload: Payload


class Reason(StrEnum):
    """Why something that came from outside was refused. Every value is produced by some test."""

    UNREADABLE = "unreadable"  # not protobuf
    TOO_LARGE = "too_large"
    FOREIGN_DIALECT = "foreign_dialect"  # readable only with the field numbers of the other dialect
    ID_LENGTH = "id_length"  # message ids are SHA-256: 32 bytes
    TOO_MANY_ENTRIES = "too_many_entries"
    UNKNOWN_FIELDS = "unknown_fields"  # more bytes of unknown fields than allowed
    NO_SHARED_GROUP = "no_shared_group"  # a peer that is in none of our groups
    NOT_IN_GROUP = "not_in_group"  # concerns a group that the peer is not in, or we are not
    REQUEST_QUOTA = "request_quota"  # as many offers of this peer, or parents, wait to be asked for as may
    SERVE_QUOTA = "serve_quota"  # as many messages wait for this peer as it may ask for
    BUFFER_QUOTA = "buffer_quota"  # the peer's share of messages that wait for parents is used up
    UNKNOWN_MESSAGE = "unknown_message"  # asked for what is not here


class Refusal(NamedTuple):
    """A packet that could not be read, and why."""

    reason: Reason
    detail: str = ""


class Codec(Protocol):
    """Bytes to values and back; `sdschat.wire` has the real one. `decode` is total: it never raises."""

    def encode(self, payload: Payload) -> bytes: ...

    def decode(self, packet: bytes) -> Payload | Refusal: ...


class Archive(Protocol):
    """The messages that are on disk: those of every `Keep` handed over so far."""

    def holds(self, message_id: bytes) -> bool: ...

    def load(self, message_id: bytes) -> Message | None: ...
