"""The rows that survive a restart, and the writes that change them.

The engine never touches a disk. It returns writes, and its caller applies all writes of one `Ready` in one transaction
before any packet of that `Ready` is sent and before the engine is called again. Epochs in rows count from the Unix
epoch in units of `mvds.epoch`, so that they mean the same after a restart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from sdschat.mvds.values import Message, Mode

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
    """Table and key of a row. The key of a record is (peer, message): a change of type replaces the row."""
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
