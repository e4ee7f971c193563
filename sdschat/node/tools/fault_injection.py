"""Faults on a running node, as an interface asks for them. Nothing of it is saved; a node starts without."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from sdschat.node.channel.session import ChannelSession
from sdschat.node.node import Node
from sdschat.sds.values import Message
from sdschat.transport import base
from sdschat.transport.base import place
from sdschat.transport.fault_lane import NONE, Direction
from sdschat.transport.faults import FaultyTransport, Sieve
from sdschat.wire.sds_codec import SdsCodec

SHARES: Final = ("loss", "duplicate", "reorder", "corrupt")
MOST_SKEW: Final = 24 * 3600 * 1000  # milliseconds


class FaultCounts(NamedTuple):
    """The counts of packets affected so far by the faults of a channel, in one direction."""

    lost: int
    duplicated: int
    reordered: int
    corrupted: int


class _Partition:
    """Loses what certain participants wrote, whoever passes it on: a broker does not tell who sends a packet."""

    def __init__(self, prefix: str, codec: SdsCodec) -> None:
        self.cut: dict[str, str] = {}  # sender id: what to call them
        self._prefix = prefix
        self._codec = codec

    def __call__(self, way: Direction, topic: str, payload: bytes) -> bool:
        if way is Direction.OUT or not self.cut:
            return False
        where = place(topic, self._prefix)
        if where is None or where.what == "who":
            return False
        if where.what != "msg":
            return where.frm in self.cut
        message = self._codec.decode(payload)
        return isinstance(message, Message) and message.sender_id in self.cut


class Injection:
    """The faults of one channel of a node. Cheap to make: all that it knows is kept by the transport."""

    def __init__(self, node: Node, channel: str) -> None:
        """Find the channel. Raises KeyError for one that is not joined."""
        self._node = node
        self._session = node.sessions[channel]

    def share(self, name: str, value: float, way: str = "") -> None:
        """Lose, double, reorder or spoil this share of the packets, 0 to 1, `in`, `out` or both ways. Raises
        ValueError."""
        self._change({name: value}, way)

    def delay(self, milliseconds: int, way: str = "") -> None:
        """Delay all packets by so many milliseconds, `in`, `out` or both ways. Raises ValueError."""
        self._change({"delay": milliseconds / 1000}, way)

    def _change(self, fields: Mapping[str, float], way: str) -> None:
        transport = self._transport()
        for each in (Direction(way),) if way else Direction:
            transport.set(replace(transport.faults.way(each), **fields), each)  # type: ignore[arg-type]

    def offline(self, cut: bool) -> None:
        transport = self._transport()
        for way in Direction:
            transport.set(replace(transport.faults.way(way), offline=cut), way)
        if not cut:
            self._session.ask_presence()

    def partition(self, sender_id: str, name: str, cut: bool = True) -> None:
        """Drop everything that this participant writes, or no longer."""
        sieve = self._sieve()
        if cut:
            sieve.cut[sender_id] = name
        else:
            sieve.cut.pop(sender_id, None)
        self._say(self._session)

    def sift(self, sieve: Sieve) -> None:
        """Lose the packets that the sieve selects."""
        transport = self._transport()
        transport.sift(sieve, transport.faults.more)

    def skew(self, milliseconds: int) -> None:
        """Set the clock of the whole node wrong. Raises ValueError."""
        if abs(milliseconds) > MOST_SKEW:
            raise ValueError("the clock can be set wrong by a day at most")
        self._node.clock.skew = milliseconds
        for session in self._node.sessions.values():
            if milliseconds or isinstance(session.transport, FaultyTransport):
                self._say(session)

    def off(self) -> None:
        """End all faults of this channel, and have the right time again."""
        self.skew(0)
        transport = self._session.transport
        if isinstance(transport, FaultyTransport):
            offline = transport.faults.offline
            transport.sift(None, ())
            transport.set(NONE)
            if offline:
                self._session.ask_presence()

    @property
    def cut(self) -> Mapping[str, str]:
        """Return the participants whose messages are dropped: display names by sender id."""
        transport = self._session.transport
        sieve = transport.sieve if isinstance(transport, FaultyTransport) else None
        return sieve.cut if isinstance(sieve, _Partition) else {}

    def describe(self) -> str:
        """Return the faults in force, in words; empty where there are none."""
        faults = getattr(self._session.transport, "faults", None)
        return str(faults) if faults is not None and faults.active else ""

    def carried(self) -> dict[str, FaultCounts]:
        """Return the effects of the faults by direction; empty while there never were faults."""
        transport = self._session.transport
        if not isinstance(transport, FaultyTransport):
            return {}
        return {
            str(way): FaultCounts(lane.lost, lane.duplicated, lane.reordered, lane.corrupted)
            for way, lane in transport.lanes.items()
        }

    def _say(self, session: ChannelSession) -> None:
        """Tell the faults in the transport's description of itself, and so in every banner and address."""
        transport = self._transport(session)
        sieve = transport.sieve
        more = [f"without {name}" for name in sieve.cut.values()] if isinstance(sieve, _Partition) else []
        if skew := self._node.clock.skew:
            more.append(f"clock {skew / 1000:+g} s")
        transport.sift(sieve, tuple(more))

    def _sieve(self) -> _Partition:
        transport = self._transport()
        sieve = transport.sieve
        if not isinstance(sieve, _Partition):
            settings = self._node.settings
            sieve = _Partition(settings.topic_prefix, SdsCodec(settings.config.max_message_bytes))
            transport.sift(sieve, transport.faults.more)
        return sieve

    def _transport(self, session: ChannelSession | None = None) -> FaultyTransport:
        """Return the channel's transport, put behind faults where it is not yet."""
        session = session or self._session
        inner = session.transport
        if isinstance(inner, FaultyTransport):
            return inner
        seed = int.from_bytes(f"{self._node.settings.fault_seed}/{session.name}/{self._node.sender_id}".encode(), "big")
        faulty = FaultyTransport(inner, asyncio.get_running_loop(), NONE, seed)
        faulty.begin(base.Connected(inner.describe(), "", 0, False) if inner.connected else None)
        session.interpose(faulty)
        return faulty
