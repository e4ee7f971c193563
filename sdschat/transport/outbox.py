"""Packets on their way to the broker: bounded, in order, and sent again after a lost connection. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from sdschat.transport.base import Failure

_OVERHEAD: Final = 16  # bytes of a PUBLISH besides topic and payload: header, lengths, id, properties
_LEARN_ABOVE: Final = 4096  # bytes; a broker that rejects a smaller packet does not do so because of its size

# A broker that rejects a packet often only closes the connection. If that happens three times with only this packet
# under way, the packet is the cause.
_STRIKES: Final = 3


@dataclass(slots=True, eq=False)
class QueuedPacket:
    topic: str
    payload: bytes
    qos: int
    retain: bool
    tag: Hashable
    strikes: int = 0

    @property
    def size(self) -> int:
        return len(self.topic) + len(self.payload)


@dataclass(slots=True)
class SizeLimits:
    """The limits of one packet: ours, the broker's, and the one that a broker shows by hanging up."""

    own: int  # bytes of a payload
    broker: int | None = None  # bytes of a whole packet
    learned: int | None = None  # bytes of a payload

    def largest(self, topic: str) -> tuple[int, str]:
        """Return the size of the largest payload on this topic, and whose limit that is."""
        limits = [(self.own, "this program's own limit")]
        if self.broker is not None:
            limits.append((self.broker - _OVERHEAD - len(topic.encode()), "the broker's limit"))
        if self.learned is not None:
            limits.append((self.learned, "the limit, because the broker did not take more"))
        return min(limits)

    def learn(self, packet: QueuedPacket) -> bool:
        """Learn from a packet that the broker did not take, or at which it hung up each time. False for one so small
        that this had another reason."""
        if len(packet.payload) <= _LEARN_ABOVE:
            return False
        self.learned = len(packet.payload) - 1
        return True


class Outbox:
    """The waiting packets, and the packets under way (sent, not acknowledged) by packet id."""

    __slots__ = ("_bytes", "_careful", "_max_bytes", "_max_packets", "_under_way", "_waiting", "window")

    def __init__(self, max_packets: int, max_bytes: int, window: int) -> None:
        self._max_packets = max_packets
        self._max_bytes = max_bytes
        self.window = window
        self._waiting: deque[QueuedPacket] = deque()
        self._under_way: dict[int, QueuedPacket] = {}
        self._bytes = 0
        self._careful = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._under_way)

    def add(self, packet: QueuedPacket) -> Failure | None:
        """Queue a packet. Return the reason if the queue is full, else None."""
        if len(self) >= self._max_packets or self._bytes + packet.size > self._max_bytes:
            return Failure.QUEUE_FULL
        self._waiting.append(packet)
        self._bytes += packet.size
        return None

    def next(self) -> QueuedPacket | None:
        """Remove and return the next packet to send, to be followed by `sent`; None if no more may be under way."""
        if self._waiting and len(self._under_way) < self._allowed():
            return self._waiting.popleft()
        return None

    def sent(self, packet: QueuedPacket, packet_id: int) -> None:
        self._under_way[packet_id] = packet

    def _allowed(self) -> int:
        # After a lost connection, send one at a time until all packets that were under way are acknowledged: if one of
        # them is the cause, it is alone the next time it happens.
        return 1 if self._careful else self.window

    def taken(self, packet_id: int) -> QueuedPacket | None:
        """Remove and return the packet that the broker acknowledged or refused; None if the id is unknown."""
        packet = self._under_way.pop(packet_id, None)
        if packet is not None:
            self._bytes -= packet.size
            self._careful = max(0, self._careful - 1)
        return packet

    def connection_lost(self, hung_up: bool) -> list[tuple[QueuedPacket, Failure]]:
        """Queue the packets under way again, in their order. Return the packets given up, each with the reason.

        `hung_up`: the other side closed the connection, perhaps because of a packet under way.
        """
        lost = list(self._under_way.values())
        self._under_way.clear()
        suspect = hung_up and len(lost) == 1
        kept, given_up = [], []
        for packet in lost:
            packet.strikes += suspect
            if packet.qos and packet.strikes < _STRIKES:
                kept.append(packet)
            else:
                self._bytes -= packet.size
                given_up.append((packet, Failure.REFUSED if packet.qos else Failure.NOT_CONNECTED))
        self._waiting.extendleft(reversed(kept))
        self._careful = len(kept)
        return given_up

    def drain(self) -> list[QueuedPacket]:
        """Empty the outbox and return its packets."""
        packets = [*self._under_way.values(), *self._waiting]
        self._under_way.clear()
        self._waiting.clear()
        self._bytes = self._careful = 0
        return packets
