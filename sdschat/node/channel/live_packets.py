"""Packets of a channel as the broker gives them, which wait for their turn if too many come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sdschat.node.channel.echoes import SentPackets
from sdschat.node.channel.reception import PacketReception
from sdschat.node.channel.waiting_packets import ASKED_FOR, WaitingPackets, head_of
from sdschat.node.clock import Clock
from sdschat.sds.channel import Channel
from sdschat.transport.base import Received


class LivePackets:
    """`sealed`: only members can send anything, so nothing waits. `took` is called after each packet, with the error if
    it could not be taken."""

    def __init__(
        self,
        reception: PacketReception,
        channel: Channel,
        clock: Clock,
        took: Callable[[Exception | None], None],
        *,
        sealed: bool,
    ) -> None:
        self.sent = SentPackets()
        self.waiting = WaitingPackets(self._take, asyncio.get_running_loop().call_soon)
        self._reception = reception
        self._channel = channel
        self._clock = clock
        self._took = took
        self._sealed = sealed
        reception.take_named = self.waiting.take_named

    def hear(self, event: Received) -> None:
        """Take a packet now or in its turn: those of people come first, and what we asked for."""
        packet, state = event.payload, self._channel.state
        own = self.sent.message_id(packet)
        if own is not None and own not in state.refetch:
            self._channel.heard_copy(self._clock.now(), own)
            self._took(None)
        elif self._sealed:
            self._take(packet, event.outdated)
        elif (head := head_of(packet)).message_id in state.requests.missing and not self.waiting.holds(head.message_id):
            # One of each id, since anybody can send more that bear it.
            self.waiting.put(packet, head._replace(sender_id=ASKED_FOR), known=True)
        else:
            self.waiting.put(packet, head, known=self._reception.comes_first(head.sender_id))

    def _take(self, packet: bytes, outdated: bool = False) -> None:
        try:
            if self._reception.receive(self._clock.now(), packet, "live", outdated):
                self._took(None)
        except Exception as error:
            self._took(error)
