"""What a node keeps across a restart, as rows, and the writes that change them.

The engine never touches a disk. It says what must be true there (`Write`), and whoever drives it makes all of one
`Ready` true in one transaction before any packet of that `Ready` leaves and before the engine is called again.
Epochs in rows count from the Unix epoch in units of `mvds.epoch`, so that they mean the same after a restart.
"""

from __future__ import annotations

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
    send_count: int  # Send Count: how often it was sent
    attempt: int  # how often since the peer last showed itself; back-off and expiry follow it
    send_epoch: int  # Send Epoch: the next epoch at which it can be sent
    expired: bool = False  # not sent any more until the peer shows itself

    @property
    def order(self) -> tuple[int, bytes]:
        return (self.timestamp, self.message_id)


class PeerRow(NamedTuple):
    peer: str
    mode: Mode | None = None  # of its own, or as configured
    online: bool = False
    last_epoch: int = NEVER  # the epoch of the last payload to it
    forwarded_epoch: int = NEVER  # when its records were last brought forward
    cursor: tuple[int, bytes] | None = None  # bringing forward goes on after this record; None: nothing to do


class GroupRow(NamedTuple):
    """A group that we are in, and the others in it, sorted."""

    group_id: bytes
    members: tuple[str, ...]


class Head(NamedTuple):
    message_id: bytes
    timestamp: int


class HeadsRow(NamedTuple):
    """The messages of a group that have no children, in the order in which they became known."""

    group_id: bytes
    heads: tuple[Head, ...]


class WaitingRow(NamedTuple):
    """A message that is here and acknowledged, and is handed over once its parents are."""

    message_id: bytes
    message: Message
    peer: str
    missing: tuple[bytes, ...]
    gap: tuple[bytes, ...]  # parents that were given up
    give_up_epoch: int  # 0: never


class AheadRow(NamedTuple):
    """A message that is not here and has a child that is, so that it will not be a head when it comes."""

    message_id: bytes


class MessageRow(NamedTuple):
    """A message handed over: own, or received and with its parents in place. Never an ephemeral one."""

    message_id: bytes
    message: Message
    peer: str  # who sent it; "" for our own
    received_at: int
    gap: tuple[bytes, ...] = ()


class Table(StrEnum):
    RECORD = "record"
    PEER = "peer"
    GROUP = "group"
    HEADS = "heads"
    WAITING = "waiting"
    AHEAD = "ahead"


Row = RecordRow | PeerRow | GroupRow | HeadsRow | WaitingRow | AheadRow


class Keep(NamedTuple):
    """Put a message into the archive. Its id is not there yet."""

    row: MessageRow


class Put(NamedTuple):
    """Insert or replace a row."""

    table: Table
    key: str
    row: Row


class Drop(NamedTuple):
    """Delete a row, which may be absent."""

    table: Table
    key: str


Write = Keep | Put | Drop


def key_of(row: Row) -> tuple[Table, str]:
    """Where a row belongs. The key of a record is (peer, message): a change of type replaces the row."""
    match row:
        case RecordRow():
            return Table.RECORD, f"{row.message_id.hex()}/{row.peer}"
        case PeerRow():
            return Table.PEER, row.peer
        case GroupRow():
            return Table.GROUP, row.group_id.hex()
        case HeadsRow():
            return Table.HEADS, row.group_id.hex()
        case WaitingRow():
            return Table.WAITING, row.message_id.hex()
        case AheadRow():
            return Table.AHEAD, row.message_id.hex()


class Snapshot(NamedTuple):
    """Everything but the archive, as it was on disk. The order of rows has no meaning."""

    records: tuple[RecordRow, ...] = ()
    peers: tuple[PeerRow, ...] = ()
    groups: tuple[GroupRow, ...] = ()
    heads: tuple[HeadsRow, ...] = ()
    waiting: tuple[WaitingRow, ...] = ()
    ahead: tuple[AheadRow, ...] = ()


class Journal:
    """Collects the writes of one step; a row that changes more than once is written once, as it is in the end."""

    __slots__ = ("_kept", "_rows")

    def __init__(self) -> None:
        self._kept: list[Write] = []
        self._rows: dict[tuple[Table, str], Write] = {}

    def keep(self, row: MessageRow) -> None:
        self._kept.append(Keep(row))

    def put(self, row: Row) -> None:
        table, key = key_of(row)
        self._rows[(table, key)] = Put(table, key, row)

    def drop(self, row: Row) -> None:
        """Delete the row that stands where `row` belongs."""
        table, key = key_of(row)
        self._rows[(table, key)] = Drop(table, key)

    def drain(self) -> tuple[Write, ...]:
        writes = (*self._kept, *self._rows.values())
        self._kept.clear()
        self._rows.clear()
        return writes
