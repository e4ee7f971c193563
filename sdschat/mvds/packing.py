"""Splits the payload of an epoch into packets (2/MVDS, Payloads and Flow).

Sizes are those of the spec's field numbers, to the byte; the Go dialect's are smaller.
"""

from __future__ import annotations

from sdschat.mvds.limits import ID_BYTES
from sdschat.mvds.values import Message, Payload

_TAG = 3  # bytes of a tag with field number 5001 to 6004
ID_COST = _TAG + 1 + ID_BYTES


def _varint(value: int) -> int:
    """Return the bytes of a varint; an int64 is encoded as its two's complement."""
    return max(1, -(-(value % 2**64).bit_length() // 7))


def _field(length: int, tag: int = _TAG) -> int:
    return tag + _varint(length) + length


def message_cost(message: Message) -> int:
    """Return the bytes of a message in a packet."""
    size = _field(len(message.body)) if message.body else 0
    size += _field(len(message.group_id)) if message.group_id else 0
    size += _TAG + _varint(message.timestamp) if message.timestamp else 0
    if message.metadata is not None:
        inner = sum(_field(len(parent), tag=1) for parent in message.metadata.parents)
        size += _field(inner + (2 if message.metadata.ephemeral else 0))
    return _field(size)


class Packer:
    """Fills packets one after the other, in the order of the calls. A full packet never changes."""

    __slots__ = ("_acks", "_limit", "_messages", "_offers", "_packets", "_requests", "_size", "total")

    def __init__(self, limit: int) -> None:
        self._limit = limit  # bytes of one packet; only one message alone may be larger
        self._packets: list[Payload] = []  # full ones
        self.total = 0  # bytes of all packets
        self._begin()

    def _begin(self) -> None:
        self._size = 0  # bytes of the packet being filled, which holds these four lists
        self._acks: list[bytes] = []
        self._offers: list[bytes] = []
        self._requests: list[bytes] = []
        self._messages: list[Message] = []

    def _close(self) -> None:
        if self._size:
            lists = (self._acks, self._offers, self._requests)
            acks, offers, requests = (tuple(ids) for ids in lists)
            self._packets.append(Payload(acks, offers, requests, tuple(self._messages)))
            self._begin()

    def _make_room(self, cost: int) -> None:
        if self._size + cost > self._limit:
            self._close()
        self._size += cost
        self.total += cost

    def add_ack(self, message_id: bytes) -> None:
        self._make_room(ID_COST)
        self._acks.append(message_id)

    def add_offer(self, message_id: bytes) -> None:
        self._make_room(ID_COST)
        self._offers.append(message_id)

    def add_request(self, message_id: bytes) -> None:
        self._make_room(ID_COST)
        self._requests.append(message_id)

    def add_message(self, message: Message, cost: int) -> None:
        self._make_room(cost)
        self._messages.append(message)

    def packets(self) -> list[Payload]:
        """Return all packets; at most one of them is not full. Empty if nothing was added."""
        self._close()
        return self._packets
