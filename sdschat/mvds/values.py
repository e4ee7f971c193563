"""Values of MVDS, which every layer above can import at little cost, the rows that survive a restart, and their writes.

The engine never touches a disk. It returns writes, and its caller applies all writes of one `Ready` in one transaction
before any packet of that `Ready` is sent and before the engine is called again. Epochs in rows count from the Unix
epoch in units of `mvds.epoch`, so that they mean the same after a restart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
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
        """Return the `ephemeral` flag of 4/MVDS-META: false by default, also without metadata."""
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


def message_id(message: Message) -> bytes:
    """Return HASH("MESSAGE_ID", group_id, timestamp, body) with SHA-256.

    The spec leaves the encoding open. This is that of the Go implementation: concatenation, with the timestamp as 8
    bytes little-endian. It is unambiguous only because groups of any other length than 32 are refused.
    """
    stamp = message.timestamp.to_bytes(8, "little", signed=True)
    return sha256(b"MESSAGE_ID" + message.group_id + stamp + message.body).digest()


NEVER = -(2**62)  # an epoch before all others


class RecordType(StrEnum):
    """Types of records in `state`. There is none for ACK: `state` MUST NOT contain those (spec: State)."""

    OFFER = "offer"
    REQUEST = "request"
    MESSAGE = "message"


class RecordRow(NamedTuple):
    """One record of the `state` of a peer; a message has one at most, and its type changes in place."""

    peer: str
    message_id: bytes
    group_id: bytes  # b"" for a request: an offer does not tell the group
    type: RecordType
    timestamp: int  # of the message, so that older ones go first; 0 for a request
    send_count: int  # Send Count: number of sendings
    attempt: int  # number of sendings since the last contact, at most `send_count`; decides back-off and expiry
    send_epoch: int  # Send Epoch: the next epoch at which it can be sent
    expired: bool = False  # not sent until the next contact with the peer

    @property
    def order(self) -> tuple[int, bytes]:
        return (self.timestamp, self.message_id)


class PeerRow(NamedTuple):
    """One peer that shares a group with us."""

    peer: str
    mode: Mode | None = None  # for messages to it; None: as configured
    online: bool = False  # by the last report or payload
    last_epoch: int = NEVER  # epoch of the last payload to it: the next payload is later
    forwarded_epoch: int = NEVER  # epoch at which its records were last brought forward
    cursor: tuple[int, bytes] | None = None  # (timestamp, id) after which bringing forward goes on; None: finished


class GroupRow(NamedTuple):
    """A group that we are in, and the others in it, sorted."""

    group_id: bytes
    members: tuple[str, ...]


class Head(NamedTuple):
    """A delivered message without children."""

    message_id: bytes
    timestamp: int


class HeadsRow(NamedTuple):
    """The messages of a group that have no children, in the order of their delivery."""

    group_id: bytes
    heads: tuple[Head, ...]


class WaitingRow(NamedTuple):
    """A stored and acknowledged message that is delivered once its parents are."""

    message_id: bytes
    message: Message
    peer: str  # sender of the message; its share of the buffer is charged
    missing: tuple[bytes, ...]  # parents that are neither delivered nor given up; not empty
    gap: tuple[bytes, ...]  # parents that were given up
    give_up_epoch: int  # epoch at which `missing` is given up; 0: never


class AheadRow(NamedTuple):
    """A message that is not delivered and has a delivered child, so that it will be no head when it comes."""

    message_id: bytes


class MessageRow(NamedTuple):
    """A delivered message: our own, or received and with its parents delivered. Never an ephemeral one."""

    message_id: bytes
    message: Message
    peer: str  # peer that sent it; "" for our own
    received_at: int  # wall clock at delivery, epoch milliseconds
    gap: tuple[bytes, ...] = ()  # parents that were not delivered before it


class PeerTable(StrEnum):
    RECORD = "record"
    PEER = "peer"
    GROUP = "group"
    HEADS = "heads"
    WAITING = "waiting"
    AHEAD = "ahead"


Row = RecordRow | PeerRow | GroupRow | HeadsRow | WaitingRow | AheadRow


class Keep(NamedTuple):
    """Put a message into the archive, which does not have its id yet."""

    row: MessageRow


class Put(NamedTuple):
    """Insert or replace a row."""

    table: PeerTable
    key: str
    row: Row


class Drop(NamedTuple):
    """Delete a row, which may be absent."""

    table: PeerTable
    key: str


Write = Keep | Put | Drop


def key_of(row: Row) -> tuple[PeerTable, str]:
    """Return the table and the key of a row. The key of a record is (peer, message): a change of type replaces the
    row."""
    match row:
        case RecordRow():
            return PeerTable.RECORD, f"{row.message_id.hex()}/{row.peer}"
        case PeerRow():
            return PeerTable.PEER, row.peer
        case GroupRow():
            return PeerTable.GROUP, row.group_id.hex()
        case HeadsRow():
            return PeerTable.HEADS, row.group_id.hex()
        case WaitingRow():
            return PeerTable.WAITING, row.message_id.hex()
        case AheadRow():
            return PeerTable.AHEAD, row.message_id.hex()


class Snapshot(NamedTuple):
    """All rows on disk except the archive. The order of rows has no meaning."""

    records: tuple[RecordRow, ...] = ()
    peers: tuple[PeerRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    heads: tuple[HeadsRow, ...] = ()
    waiting: tuple[WaitingRow, ...] = ()
    ahead: tuple[AheadRow, ...] = ()


@dataclass(slots=True, eq=False)
class WriteCollector:
    """Collects the writes of one step; a row that changes more than once is written once, in its last form."""

    # Messages for the archive, in order of delivery.
    _kept: list[Write] = field(default_factory=list, init=False)
    # The last write to each row, by table and key.
    _rows: dict[tuple[PeerTable, str], Write] = field(default_factory=dict, init=False)

    def keep(self, row: MessageRow) -> None:
        self._kept.append(Keep(row))

    def put(self, row: Row) -> None:
        table, key = key_of(row)
        self._rows[(table, key)] = Put(table, key, row)

    def drop(self, row: Row) -> None:
        """Delete the row with the table and key of `row`."""
        table, key = key_of(row)
        self._rows[(table, key)] = Drop(table, key)

    def drain(self) -> tuple[Write, ...]:
        writes = (*self._kept, *self._rows.values())
        self._kept.clear()
        self._rows.clear()
        return writes
