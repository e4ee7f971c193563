"""A broker and its clients in memory: the same interface, no sockets, and every run gives the same result."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable

from sdschat.transport import base
from sdschat.transport.base import Failure, Why, matches
from sdschat.transport.event_queue import EventQueue

_ADDRESS = "memory://network"


class MemoryNetwork:
    """The broker. `schedule` runs a step soon, like `loop.call_soon`; without it, nothing moves until `run`."""

    def __init__(
        self, schedule: Callable[[Callable[[], None]], object] | None = None, max_payload: int = 1024 * 1024
    ) -> None:
        self.max_payload = max_payload
        self.retained: dict[str, bytes] = {}
        self.clients: list[MemoryTransport] = []
        self._schedule = schedule
        self._steps: deque[Callable[[], None]] = deque()

    def soon(self, step: Callable[[], None]) -> None:
        """Add a step of the network. Steps run in the order in which they were added."""
        self._steps.append(step)
        if self._schedule is not None:
            self._schedule(self._next)

    def _next(self) -> None:
        if self._steps:
            self._steps.popleft()()

    def run(self, most: int = 1_000_000) -> int:
        """Run all steps, also those that a step adds. Return the number of steps."""
        taken = 0
        while self._steps:
            if taken == most:
                raise RuntimeError(f"the network still moves after {most} steps: somebody answers every packet")
            self._next()
            taken += 1
        return taken

    def transport(self, presence_topic: str | None = None) -> MemoryTransport:
        return MemoryTransport(self, presence_topic)

    def pass_on(self, topic: str, payload: bytes, retain: bool) -> None:
        if retain and payload:
            self.retained[topic] = payload
        elif retain:
            self.retained.pop(topic, None)
        for client in list(self.clients):
            client.take(topic, payload, retained=False)


class MemoryTransport:
    """A `base.Transport` in memory. Own packets come back, as from a broker that speaks MQTT 3.1.1."""

    def __init__(self, network: MemoryNetwork, presence_topic: str | None) -> None:
        self._network = network
        self._presence_topic = presence_topic
        self._presence = self._leaving = b""
        self._events = EventQueue()
        self._filters: dict[str, None] = {}
        self._queue: deque[tuple[str, bytes, bool, Hashable]] = deque()
        self._held: deque[tuple[str, bytes, bool]] = deque()  # received while paused
        self._paused = self._closed = False
        self.connected = False

    def listen(self, handler: base.Handler) -> None:
        self._events.listen(handler)

    def start(self) -> None:
        self._events.begin(self._network.soon)
        self._events.put(base.Connecting(_ADDRESS, 1))
        self._network.soon(self.reconnect)

    def reconnect(self) -> None:
        """Connect again, after `drop`."""
        if self.connected or self._closed:
            return
        self.connected = True
        self._network.clients.append(self)
        self._events.put(base.Connected(_ADDRESS, "memory", self._network.max_payload, True))
        for topic_filter in self._filters:
            self._give_retained(topic_filter)
        if self._presence:
            self.set_presence(self._presence, self._leaving)
        while self._queue:
            self._network.soon(self._post(*self._queue.popleft()))

    def drop(self, why: Why = Why.CONNECTION_LOST) -> None:
        """Cut the connection as if the cable were cut: the broker publishes our last will."""
        if not self.connected:
            return
        self.connected = False
        self._network.clients.remove(self)
        if self._presence_topic is not None:
            self._network.pass_on(self._presence_topic, self._leaving, True)
        self._events.put(base.Disconnected(why, "The connection was cut.", None))

    def hang_up(self) -> None:
        self.drop(Why.CLOSED)

    async def close(self, grace: float = 1.0) -> None:
        if self._closed:
            return
        self._closed = True
        left = self.connected
        self.drop(Why.CLOSED)
        if left and self._presence_topic is not None:
            self._network.pass_on(self._presence_topic, b"", True)
        while self._queue:
            tag = self._queue.popleft()[3]
            self._events.put(base.PublishFailed(tag, Failure.CLOSED, "The program left before this was sent."))
        self._events.finish()

    def subscribe(self, topic_filter: str) -> None:
        if topic_filter not in self._filters:
            self._filters[topic_filter] = None
            if self.connected:
                self._give_retained(topic_filter)

    def unsubscribe(self, topic_filter: str) -> None:
        self._filters.pop(topic_filter, None)

    def publish(self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False, tag: Hashable = None) -> None:
        problem = base.publish_problem(topic, qos)
        if problem is not None:
            raise ValueError(problem)
        fail = self._events.put
        if self._closed:
            fail(base.PublishFailed(tag, Failure.CLOSED, "The program has left."))
        elif len(payload) > self._network.max_payload:
            limit = self._network.max_payload
            fail(base.PublishFailed(tag, Failure.TOO_LARGE, f"The packet has {len(payload)} bytes of {limit} allowed."))
        elif self.connected:
            self._network.soon(self._post(topic, payload, retain, tag))
        elif qos:
            self._queue.append((topic, payload, retain, tag))
        else:
            fail(base.PublishFailed(tag, Failure.NOT_CONNECTED, "There is no connection."))

    def _post(self, topic: str, payload: bytes, retain: bool, tag: Hashable) -> Callable[[], None]:
        def step() -> None:
            if not self.connected:
                self.publish(topic, payload, retain=retain, tag=tag)  # the connection was cut meanwhile: queue it again
                return
            self._network.pass_on(topic, payload, retain)
            self._events.put(base.Published(tag))

        return step

    def take(self, topic: str, payload: bytes, retained: bool) -> None:
        """Receive a packet of the network, if a subscription matches its topic."""
        if not any(matches(topic_filter, topic) for topic_filter in self._filters):
            return
        if self._paused:
            self._held.append((topic, payload, retained))
        else:
            self._events.put(base.Received(topic, payload, retained))

    def _give_retained(self, topic_filter: str) -> None:
        for topic, payload in self._network.retained.items():
            if matches(topic_filter, topic):
                self.take(topic, payload, retained=True)

    def set_presence(self, payload: bytes, leaving: bytes = b"") -> None:
        if self._presence_topic is None:
            raise ValueError("this transport was made without a presence topic")
        self._presence, self._leaving = payload, leaving
        if self.connected:
            self._network.pass_on(self._presence_topic, payload, True)

    def pause(self) -> None:
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        while self._held:
            self._events.put(base.Received(*self._held.popleft()))

    def retry_now(self) -> None:
        self.reconnect()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def describe(self) -> str:
        return _ADDRESS
