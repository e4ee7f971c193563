"""Injected faults between the node and the broker: seeded, never saved, always shown to the user."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from sdschat.transport import base
from sdschat.transport.base import Failure, Transport, Why
from sdschat.transport.event_queue import EventQueue
from sdschat.transport.fault_lane import MAX_HELD, NONE, Direction, FaultLane, Faults, Scheduler

# True if a packet is to be lost, judged by its direction, its topic and its bytes.
Sieve = Callable[[Direction, str, bytes], bool]


class Applied(NamedTuple):
    """The faults that are active."""

    incoming: Faults
    outgoing: Faults
    more: tuple[str, ...] = ()  # other injected faults, in words

    @property
    def active(self) -> bool:
        return self.incoming.active or self.outgoing.active or bool(self.more)

    @property
    def offline(self) -> bool:
        return self.incoming.offline or self.outgoing.offline

    def way(self, way: Direction) -> Faults:
        return self.incoming if way is Direction.IN else self.outgoing

    def __str__(self) -> str:
        if self.offline:
            text = "offline in/out"
        elif self.incoming == self.outgoing:
            text = self.incoming.describe()
        else:
            text = ", ".join(filter(None, (self.incoming.describe("in"), self.outgoing.describe("out"))))
        return ", ".join(filter(None, (text, *self.more))) or "none"


class FaultyTransport:
    """A transport with injected faults. A lost outgoing packet is reported as published: real loss looks the same.

    Only `offline` affects presence and the connection itself.
    """

    def __init__(self, inner: Transport, clock: Scheduler, faults: Faults = NONE, seed: int = 0) -> None:
        self._inner = inner
        self._faults = Applied(faults, faults)
        self._sieve: Sieve | None = None
        self._events = EventQueue()
        self._clock = clock
        self._kept: deque[tuple[str, bytes, bool, Hashable]] = deque()  # published while offline
        self._last: base.Connected | None = None
        # One random sequence for each direction: faults in one must not change the faults in the other.
        self.lanes = {way: FaultLane(Random(f"{seed}/{way}"), clock) for way in Direction}
        inner.listen(self._heard)

    @property
    def faults(self) -> Applied:
        return self._faults

    @property
    def sieve(self) -> Sieve | None:
        return self._sieve

    def begin(self, connected: base.Connected | None) -> None:
        """Begin on a transport that runs already, instead of `start`; `connected` is its present connection."""
        self._last = connected
        self._events.begin(lambda step: self._clock.call_at(self._clock.time(), step))

    def sift(self, sieve: Sieve | None, more: tuple[str, ...]) -> None:
        """Lose the packets that the sieve selects. `more` describes this and all other injected faults in words."""
        self._sieve = sieve
        self._faults = self._faults._replace(more=more)

    def set(self, faults: Faults, way: Direction | None = None) -> None:
        """Change the faults of one direction or both, while running.

        Packets already on their way are not affected. `offline` always applies to both directions.
        """
        cut = self._faults.offline
        at = self._faults
        incoming = faults if way is not Direction.OUT else replace(at.incoming, offline=faults.offline)
        outgoing = faults if way is not Direction.IN else replace(at.outgoing, offline=faults.offline)
        self._faults = Applied(incoming, outgoing, at.more)
        if faults.offline and not cut:
            for lane in self.lanes.values():
                lane.clear()
            if self._last is not None:
                self._events.put(self._offline())
        elif cut and not faults.offline:
            if self._last is not None:
                self._events.put(self._last)
            while self._kept:
                topic, payload, retain, tag = self._kept.popleft()
                self.publish(topic, payload, retain=retain, tag=tag)

    def _offline(self) -> base.Disconnected:
        return base.Disconnected(Why.OFFLINE, "Taken offline on purpose, by fault injection.", None)

    def _heard(self, event: base.Event) -> None:
        match event:
            case base.Received():
                if self._faults.offline or self._sifted(Direction.IN, event.topic, event.payload):
                    pass
                elif base.is_presence(event.topic):
                    self._events.put(event)
                else:
                    faults, lane = self._faults.incoming, self.lanes[Direction.IN]
                    came = event._replace(payload=lane.spoil(faults, event.payload))
                    lane.carry(faults, lambda: self._deliver(came), lambda: None)
            case base.Connected():
                self._last = event._replace(address=self.describe())
                self._events.put(self._offline() if self._faults.offline else self._last)
            case base.Disconnected():
                was, self._last = self._last, None
                if not self._faults.offline or was is None or event.why is Why.CLOSED:
                    self._events.put(event)
            case base.Connecting():
                self._events.put(event._replace(address=self.describe()))
            case base.Published(tag) | base.PublishFailed(tag) if isinstance(tag, _Copy):
                self._answer(tag, event)
            case _:
                self._events.put(event)

    def _deliver(self, event: base.Received) -> None:
        if not self._faults.offline:
            self._events.put(event)

    def _sifted(self, way: Direction, topic: str, payload: bytes) -> bool:
        if self._sieve is None or not self._sieve(way, topic, payload):
            return False
        self.lanes[way].lost += 1
        return True

    def _answer(self, copy: _Copy, event: base.Published | base.PublishFailed) -> None:
        """Report the result of the first copy of a packet only."""
        if not copy.told:
            copy.told = True
            self._events.put(event._replace(tag=copy.tag))

    def publish(self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False, tag: Hashable = None) -> None:
        problem = base.publish_problem(topic, qos)
        if problem is not None:
            raise ValueError(problem)
        if self._faults.offline:
            self._keep(topic, payload, qos, retain, tag)
            return
        copy = _Copy(tag)
        if self._sifted(Direction.OUT, topic, payload):
            self._answer(copy, base.Published(copy))
            return
        faults, lane, send = self._faults.outgoing, self.lanes[Direction.OUT], self._inner.publish
        gone = lane.spoil(faults, payload)
        lane.carry(
            faults,
            lambda: send(topic, gone, qos=qos, retain=retain, tag=copy),
            lambda: self._answer(copy, base.Published(copy)),
        )

    def _keep(self, topic: str, payload: bytes, qos: int, retain: bool, tag: Hashable) -> None:
        """Queue a packet of QoS 1 while offline, as every transport does without a connection."""
        if qos == 0:
            self._failed(tag, Failure.NOT_CONNECTED, "Taken offline by fault injection.")
        elif len(self._kept) >= MAX_HELD:
            self._failed(tag, Failure.QUEUE_FULL, f"{MAX_HELD} packets wait already, offline by fault injection.")
        else:
            self._kept.append((topic, payload, retain, tag))

    def _failed(self, tag: Hashable, failure: Failure, detail: str) -> None:
        self._events.put(base.PublishFailed(tag, failure, detail))

    def listen(self, handler: base.Handler) -> None:
        self._events.listen(handler)

    def start(self) -> None:
        self._events.begin(lambda step: self._clock.call_at(self._clock.time(), step))
        self._inner.start()

    def hang_up(self) -> None:
        self._inner.hang_up()

    async def close(self, grace: float = 1.0) -> None:
        for lane in self.lanes.values():
            lane.clear()
        for *_, tag in self._kept:
            self._failed(tag, Failure.CLOSED, "The program left before this was sent.")
        self._kept.clear()
        await self._inner.close(grace)
        self._events.finish()

    def subscribe(self, topic_filter: str) -> None:
        self._inner.subscribe(topic_filter)

    def unsubscribe(self, topic_filter: str) -> None:
        self._inner.unsubscribe(topic_filter)

    def set_presence(self, payload: bytes, leaving: bytes = b"") -> None:
        self._inner.set_presence(payload, leaving)

    def pause(self) -> None:
        self._inner.pause()

    def resume(self) -> None:
        self._inner.resume()

    def retry_now(self) -> None:
        self._inner.retry_now()

    @property
    def connected(self) -> bool:
        return self._inner.connected and not self._faults.offline

    @property
    def waiting(self) -> int:
        return self._inner.waiting + len(self._kept)

    def describe(self) -> str:
        inner = self._inner.describe()
        return f"{inner} (faults: {self._faults})" if self._faults.active else inner


@dataclass(slots=True, eq=False)
class _Copy:
    """The tag of all copies of one packet in the inner transport."""

    tag: Hashable
    told: bool = False
