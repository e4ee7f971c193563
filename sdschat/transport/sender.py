"""The sending half of the MQTT transport: limits, the queue, and the result for each packet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Final

from sdschat.transport.base import Event, Failure, Published, PublishFailed, Why
from sdschat.transport.options import MqttOptions
from sdschat.transport.outbox import Outbox, QueuedPacket
from sdschat.transport.session import BrokerSession

_OVERHEAD: Final = 16  # bytes of a PUBLISH besides topic and payload: header, lengths, id, properties
HUNG_UP: Final = (Why.CONNECTION_LOST, Why.BROKER_CLOSED)
_LEARN_ABOVE: Final = 4096  # bytes; a broker that rejects a smaller packet does not do so because of its size

Post = Callable[[str, bytes, int, bool], int]


class UntrackedTag:
    """The tag of packets whose result is not reported."""


QUIET: Final = UntrackedTag()


class Sender:
    """Send packets while there is a connection; queue packets of QoS 1 while there is none."""

    def __init__(self, options: MqttOptions, tell: Callable[[Event], None]) -> None:
        self._options = options
        self._tell = tell
        self._outbox = Outbox(options.queue_packets, options.queue_bytes, options.window)
        self._post: Post | None = None
        self._broker_limit: int | None = None  # bytes of a whole packet
        self._learned_limit: int | None = None  # bytes of a payload
        self._closed = False
        self._idle = asyncio.Event()

    def __len__(self) -> int:
        return len(self._outbox)

    def send(self, packet: QueuedPacket) -> None:
        refusal = self._refusal(packet)
        if refusal is not None:
            self._failed(packet, *refusal)
        else:
            self._pump()

    def _refusal(self, packet: QueuedPacket) -> tuple[Failure, str] | None:
        """Add the packet to the outbox and return None; if that is not possible, return the reason."""
        if self._closed:
            return Failure.CLOSED, "The program has left the broker."
        size, (limit, whose) = len(packet.payload), self._limit(packet.topic)
        if size > limit:
            return Failure.TOO_LARGE, f"The packet has {size} bytes, and {limit} are {whose}. Send less at once."
        if packet.qos == 0 and self._post is None:
            return Failure.NOT_CONNECTED, "There is no connection, and this was only worth sending now."
        full = self._outbox.add(packet)
        if full is not None:
            return full, f"{len(self)} packets wait for the broker already. Wait for it, or send more slowly."
        return None

    def _limit(self, topic: str) -> tuple[int, str]:
        limits = [(self._options.max_payload, "this program's own limit")]
        if self._broker_limit is not None:
            limits.append((self._broker_limit - _OVERHEAD - len(topic.encode()), "the broker's limit"))
        if self._learned_limit is not None:
            limits.append((self._learned_limit, "the limit, because the broker hung up at more"))
        return min(limits)

    def _pump(self) -> None:
        post = self._post
        if post is not None:
            self._outbox.pump(lambda packet: post(packet.topic, packet.payload, packet.qos, packet.retain))

    def connected(self, opened: BrokerSession, post: Post) -> int:
        """Begin to send. Return the size of the largest payload on a short topic."""
        self._post = post
        self._broker_limit = opened.max_packet
        self._outbox.window = max(1, min(self._options.window, opened.window))
        return self._limit("")[0]

    def flush(self) -> None:
        """Send the packets that waited for the connection."""
        self._pump()

    def answered(self, packet_id: int, refusal: str | None) -> None:
        packet = self._outbox.taken(packet_id)
        if packet is None:
            return
        if refusal is not None:
            self._failed(packet, Failure.REFUSED, f"The broker refused to pass this on: {refusal}.")
        elif packet.tag is not QUIET:
            self._tell(Published(packet.tag))
        if not len(self._outbox):
            self._idle.set()
        self._pump()

    def disconnected(self, why: Why) -> None:
        self._post = None
        for packet, failure in self._outbox.connection_lost(hung_up=why in HUNG_UP):
            if failure is not Failure.REFUSED:
                self._failed(packet, failure, "The connection was lost while this was on its way.")
                continue
            if len(packet.payload) > _LEARN_ABOVE:
                self._learned_limit = len(packet.payload) - 1
            self._failed(packet, failure, f"The broker hung up each time these {packet.size} bytes came. Send less.")

    async def idle(self, patience: float) -> bool:
        """Wait up to `patience` seconds. Return True if the broker has accepted everything by then."""
        self._idle.clear()
        if len(self._outbox):
            try:
                await asyncio.wait_for(self._idle.wait(), patience)
            except TimeoutError:
                return False
        return True

    def close(self) -> None:
        self._closed = True
        self._post = None
        for packet in self._outbox.drain():
            self._failed(packet, Failure.CLOSED, "The program left the broker before this was taken over.")

    def _failed(self, packet: QueuedPacket, failure: Failure, detail: str) -> None:
        tag: Hashable = packet.tag
        if tag is not QUIET:
            self._tell(PublishFailed(tag, failure, detail))
