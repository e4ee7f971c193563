"""Faults on demand, between the node and the broker, both ways: seeded, never saved, always said."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final, Protocol

from sdschat.transport import base
from sdschat.transport.base import Failure, Transport, Why
from sdschat.transport.notifier import Notifier

# A reordered packet is overtaken by what comes up to this much later, besides the delay of all packets.
_HELD_BACK: Final = 0.5
# Delays are from half to one and a half times the setting.
_SPREAD: Final = (0.5, 1.5)
MAX_HELD: Final = 10_000  # packets on their way through the faults, each way; more are lost


class Scheduler(Protocol):
    """What a fault needs of time; an event loop has it."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], None], /) -> object: ...


@dataclass(frozen=True, slots=True)
class Faults:
    """The settings `fault.*`: probabilities from 0 to 1, the delay in seconds."""

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    delay: float = 0.0
    offline: bool = False

    def __post_init__(self) -> None:
        for name in ("loss", "duplicate", "reorder"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise ValueError(f"fault.{name} is {value}, and must be from 0 to 1")
        if not 0 <= self.delay <= 3600:
            raise ValueError(f"fault.delay is {self.delay} s, and must be from 0 to 3600 s")

    @property
    def active(self) -> bool:
        return self != NONE

    def __str__(self) -> str:
        if self.offline:
            return "offline in/out"
        shares = (("loss", self.loss), ("duplicates", self.duplicate), ("reorder", self.reorder))
        parts = [f"{name} {value:.4g}%" for name, share in shares if (value := 100 * share)]
        if self.delay:
            parts.append(f"delay {1000 * self.delay:.4g} ms")
        return f"{', '.join(parts)} in/out" if parts else "none"


NONE: Final = Faults()


Step = Callable[[], None]


class Direction(StrEnum):
    IN = "in"
    OUT = "out"


class Lane:
    """One direction. Packets keep their order except where one is reordered."""

    def __init__(self, random: Random, clock: Scheduler) -> None:
        self._random = random
        self._clock = clock
        self._held: list[tuple[float, int, Step, Step]] = []
        self._last = 0.0
        self._count = 0
        self.lost = self.duplicated = self.reordered = 0

    def carry(self, faults: Faults, deliver: Step, lose: Step) -> None:
        """Let a packet through the faults: each copy of it is delivered or lost, now or later."""
        if self._random.random() < faults.loss or len(self._held) >= MAX_HELD:
            self.lost += 1
            lose()
            return
        self._send_on(faults, deliver, lose)
        if self._random.random() < faults.duplicate:
            self.duplicated += 1
            self._send_on(faults, deliver, lose)

    def _send_on(self, faults: Faults, deliver: Step, lose: Step) -> None:
        now = self._clock.time()
        due = now + faults.delay * self._random.uniform(*_SPREAD)
        if self._random.random() < faults.reorder:
            self.reordered += 1
            due = max(due, self._last) + self._random.uniform(0, _HELD_BACK)
        else:
            due = self._last = max(due, self._last)
        if due <= now and not self._held:
            deliver()
            return
        self._count += 1
        heapq.heappush(self._held, (due, self._count, deliver, lose))
        self._clock.call_at(due, self._release)

    def _release(self) -> None:
        while self._held and self._held[0][0] <= self._clock.time():
            heapq.heappop(self._held)[2]()

    def clear(self) -> None:
        """Lose what is on its way."""
        held, self._held = self._held, []
        self.lost += len(held)
        for _, _, _, lose in held:
            lose()


class FaultyTransport:
    """Wraps a transport. What is lost on its way out is told as published: that is what loss looks like.

    Presence and the connection itself are left alone, except by `offline`.
    """

    def __init__(self, inner: Transport, clock: Scheduler, faults: Faults = NONE, seed: int = 0) -> None:
        self._inner = inner
        self._faults = faults
        self._notifier = Notifier()
        self._clock = clock
        self._kept: deque[tuple[str, bytes, bool, Hashable]] = deque()  # what was to go out while offline
        self._last: base.Connected | None = None
        # A random sequence for each direction: what one does must not change what happens in the other.
        self.lanes = {way: Lane(Random(f"{seed}/{way}"), clock) for way in Direction}
        inner.listen(self._heard)

    @property
    def faults(self) -> Faults:
        return self._faults

    def set(self, faults: Faults) -> None:
        """Change the faults while running. What is on its way already goes on."""
        cut, self._faults = self._faults.offline, faults
        if faults.offline and not cut:
            for lane in self.lanes.values():
                lane.clear()
            if self._last is not None:
                self._notifier.tell(self._offline())
        elif cut and not faults.offline:
            if self._last is not None:
                self._notifier.tell(self._last)
            while self._kept:
                topic, payload, retain, tag = self._kept.popleft()
                self.publish(topic, payload, retain=retain, tag=tag)

    def _offline(self) -> base.Disconnected:
        return base.Disconnected(Why.OFFLINE, "Taken offline on purpose, by fault injection.", None)

    def _heard(self, event: base.Event) -> None:
        match event:
            case base.Received():
                if not self._faults.offline:
                    self.lanes[Direction.IN].carry(self._faults, lambda: self._deliver(event), lambda: None)
            case base.Connected():
                self._last = event._replace(address=self.describe())
                self._notifier.tell(self._offline() if self._faults.offline else self._last)
            case base.Disconnected():
                was, self._last = self._last, None
                if not self._faults.offline or was is None or event.why is Why.CLOSED:
                    self._notifier.tell(event)
            case base.Connecting():
                self._notifier.tell(event._replace(address=self.describe()))
            case base.Published(tag) | base.PublishFailed(tag) if isinstance(tag, _Copy):
                self._answer(tag, event)
            case _:
                self._notifier.tell(event)

    def _deliver(self, event: base.Received) -> None:
        if not self._faults.offline:
            self._notifier.tell(event)

    def _answer(self, copy: _Copy, event: base.Published | base.PublishFailed) -> None:
        """Of several copies of a packet only the first one's fate is told."""
        if not copy.told:
            copy.told = True
            self._notifier.tell(event._replace(tag=copy.tag))

    def publish(self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False, tag: Hashable = None) -> None:
        problem = base.publish_problem(topic, qos)
        if problem is not None:
            raise ValueError(problem)
        if self._faults.offline:
            self._keep(topic, payload, qos, retain, tag)
            return
        copy = _Copy(tag)
        send = self._inner.publish
        self.lanes[Direction.OUT].carry(
            self._faults,
            lambda: send(topic, payload, qos=qos, retain=retain, tag=copy),
            lambda: self._answer(copy, base.Published(copy)),
        )

    def _keep(self, topic: str, payload: bytes, qos: int, retain: bool, tag: Hashable) -> None:
        """As every transport does without a connection: what has QoS 1 waits."""
        if qos == 0:
            self._failed(tag, Failure.NOT_CONNECTED, "Taken offline by fault injection.")
        elif len(self._kept) >= MAX_HELD:
            self._failed(tag, Failure.QUEUE_FULL, f"{MAX_HELD} packets wait already, offline by fault injection.")
        else:
            self._kept.append((topic, payload, retain, tag))

    def _failed(self, tag: Hashable, failure: Failure, detail: str) -> None:
        self._notifier.tell(base.PublishFailed(tag, failure, detail))

    def listen(self, handler: base.Handler) -> None:
        self._notifier.listen(handler)

    def start(self) -> None:
        self._notifier.begin(lambda step: self._clock.call_at(self._clock.time(), step))
        self._inner.start()

    async def close(self, grace: float = 1.0) -> None:
        for lane in self.lanes.values():
            lane.clear()
        for *_, tag in self._kept:
            self._failed(tag, Failure.CLOSED, "The program left before this was sent.")
        self._kept.clear()
        await self._inner.close(grace)
        self._notifier.finish()

    def subscribe(self, topic_filter: str) -> None:
        self._inner.subscribe(topic_filter)

    def unsubscribe(self, topic_filter: str) -> None:
        self._inner.unsubscribe(topic_filter)

    def set_presence(self, payload: bytes) -> None:
        self._inner.set_presence(payload)

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
    """The tag under which the inner transport sends the copies of one packet."""

    tag: Hashable
    told: bool = False
