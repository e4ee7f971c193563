"""The values that SDS speaks of: messages, history entries, moments, refusals.

They carry no behaviour beyond telling what they are, so that every layer above can import them cheaply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol


class Now(NamedTuple):
    """A moment, as the caller's clocks show it. Protocol code never reads a clock itself.

    `wall` is epoch milliseconds and may jump; Lamport timestamps come from it.
    `mono` is milliseconds on a clock that never jumps; timers run on it.
    """

    wall: int
    mono: int


class HistoryEntry(NamedTuple):
    """`HistoryEntry` of the wire protocol: a reference to a message, in a causal history or a repair request."""

    message_id: str
    retrieval_hint: bytes | None = None
    sender_id: str | None = None


class MessageKind(StrEnum):
    """Kind of a message; it follows from which of its fields are set."""

    CONTENT = "content"
    SYNC = "sync"
    EPHEMERAL = "ephemeral"
    NEITHER = "neither"


@dataclass(slots=True)
class Message:
    """`Message` of the wire protocol. Never changed once made: treat it as frozen (freezing it costs 1 µs a packet)."""

    sender_id: str
    message_id: str
    channel_id: str
    lamport_timestamp: int | None = None
    causal_history: tuple[HistoryEntry, ...] = ()
    bloom_filter: bytes | None = None
    repair_request: tuple[HistoryEntry, ...] = ()
    content: bytes | None = field(default=None)

    @property
    def kind(self) -> MessageKind:
        """Content with a clock is a message of the log; without one it is ephemeral; a clock alone is a sync.

        The spec leaves empty content open: it says the same as absent content, because proto3 writers cannot
        be relied on to tell the two apart.
        """
        if self.content:
            return MessageKind.EPHEMERAL if self.lamport_timestamp is None else MessageKind.CONTENT
        return MessageKind.NEITHER if self.lamport_timestamp is None else MessageKind.SYNC


class Draft(NamedTuple):
    """A message without its content: the fields that say where in the log it belongs. An ephemeral one has none."""

    lamport_timestamp: int | None = None
    causal_history: tuple[HistoryEntry, ...] = ()
    bloom_filter: bytes | None = None


Compose = Callable[[Draft], bytes]  # makes the content of a message that has its place


class Reason(StrEnum):
    """Why something that came from outside was refused. Every value is produced by some test."""

    UNREADABLE = "unreadable"  # not protobuf, or not UTF-8 where text belongs
    TOO_LARGE = "too_large"
    FOREIGN_DIALECT = "foreign_dialect"  # readable only with the field numbers of another implementation
    FIELD_MISSING = "field_missing"
    FIELD_TOO_LONG = "field_too_long"
    TOO_MANY_ENTRIES = "too_many_entries"
    DUPLICATE_FIELD = "duplicate_field"
    UNKNOWN_FIELDS = "unknown_fields"  # more bytes of unknown fields than allowed
    NO_KIND = "no_kind"  # neither content nor a clock
    OTHER_CHANNEL = "other_channel"
    SELF_REFERENCE = "self_reference"
    CLOCK_ZERO = "clock_zero"
    CLOCK_TOO_LARGE = "clock_too_large"
    CLOCK_NOT_ABOVE_PARENT = "clock_not_above_parent"
    FUTURE_QUOTA = "future_quota"
    BUFFER_QUOTA = "buffer_quota"
    OVER_LIMIT = "over_limit"  # its sender says more than is kept, and it is nothing that could be kept as an id
    OWN_ID_UNKNOWN = "own_id_unknown"  # bears our participant id, and we never sent it
    ID_CONFLICT = "id_conflict"  # a known id with other content
    MISNAMED = "misnamed"  # signed content under an id that is not its own, or from another than its author
    ALTERED = "altered"  # not what its author signed: another place, content, sender or id


class Refusal(NamedTuple):
    """A packet that was not taken, and why."""

    reason: Reason
    detail: str = ""
    sender_id: str = ""
    message_id: str = ""


class Codec(Protocol):
    """Bytes to values and back; `sdschat.wire` has the real one. `decode` is total: it never raises."""

    def encode(self, message: Message) -> bytes: ...

    def decode(self, packet: bytes) -> Message | Refusal: ...
