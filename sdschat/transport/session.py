"""One connection from opening to its end: its subscriptions, its checks that both sides live, and why it ended."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple, Protocol

from sdschat.transport.address import Address, Secret
from sdschat.transport.base import Event, ProbeUnanswered, SubscribeRefused, Why
from sdschat.transport.mqtt_options import MqttOptions

_DEAF: Final = (
    "nothing comes from the broker, not even a packet to ourselves. If others are here, it does not let you read what "
    "they say"
)
_UNREADABLE: Final = "the broker refused the subscription to {}: {}. Its rules must let you read what is sent there"


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """The settings of one connection."""

    address: Address
    client_id: str
    version: int  # 5 or 3, for MQTT 3.1.1
    keepalive: int  # seconds
    dial_timeout: float  # seconds
    max_incoming: int  # bytes of one packet
    echo: str = ""  # the topic of our probe: the only topic on which we want our own packets back
    password: Secret | None = None
    tls: ssl.SSLContext | None = None
    will_topic: str | None = None  # of a retained presence, which the last will replaces
    will: bytes = b""
    session_kept: int = 0  # seconds for which the broker keeps the session of this client id; 0: no session
    accepted: bool = False  # the broker took us before, as we are


class BrokerSession(NamedTuple):
    """The broker accepted the connection, with these limits."""

    max_packet: int | None  # bytes
    window: int  # number of unacknowledged packets that the broker allows
    resumed: bool = False  # the broker had kept our session


class LinkEvents(Protocol):
    """The session of a link, for its states. Called on the loop's thread, possibly from inside a method of the link."""

    def link_opened(self, opened: BrokerSession) -> None: ...

    def link_closed(self, why: Why, detail: str) -> None:
        """Report the end. Called exactly once, also if the connection was never opened."""

    def link_subscribed(self, packet_id: int, refusals: Sequence[str | None]) -> None: ...


class LinkTraffic(NamedTuple):
    """The ends of all packets of a link, without a stop on the way."""

    emit: Callable[[Event], None]  # takes each `Received`, but for our probe
    answered: Callable[[int, str | None], None]  # takes the id of each packet that the broker accepted, or refused: why


class BrokerLink(Protocol):
    """One connection. It cannot be used after `link_closed`."""

    heard_at: float  # seconds of the loop's clock: when the last packet arrived; 0: none did
    echoed: bool  # our probe came back

    def open(self) -> None: ...

    def subscribe(self, topic_filters: Sequence[str]) -> int: ...

    def unsubscribe(self, topic_filter: str) -> None: ...

    def publish(self, topic: str, payload: bytes, qos: int, retain: bool) -> int: ...

    def tick(self) -> None:
        """Maintain the keep-alive. Call this about once a second."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def disconnect(self) -> None:
        """Send a DISCONNECT packet: the broker then discards the last will."""

    def abort(self, why: Why, detail: str) -> None:
        """Close the connection at once, without waiting for the other side."""


# A check that the broker still forwards packets. Pure; times are seconds of one monotonic clock.
#
# MQTT's keep-alive only shows that the broker answers a ping. The probe is a packet to ourselves, through the broker.


class ProbeStep(Enum):
    NOTHING = auto()
    SEND = auto()  # send a probe now
    NOT_ANSWERED = auto()  # never answered on this connection: the broker may forbid it (reported once)
    HUNG = auto()  # answered before, but not any more


class Probe:
    """The probe of one connection. Every packet that arrives counts as an answer: only silence is suspicious."""

    __slots__ = ("_asked_at", "_every", "_gave_up", "_heard_at", "_patience", "_proven")

    def __init__(self, every: float, patience: float, now: float) -> None:
        self._every = every
        self._patience = patience
        self._heard_at = now
        self._asked_at: float | None = None
        self._proven = False
        self._gave_up = False

    def heard(self, at: float) -> None:
        """Record when the broker last forwarded a packet; the same time may be given again. Silence counts from it."""
        self._heard_at = max(self._heard_at, at)
        if self._proven and self._asked_at is not None and at >= self._asked_at:
            self._asked_at = None

    def answered(self, at: float) -> None:
        """Record that the probe itself came back: from now on a missing probe means a hang."""
        self._proven = True
        self.heard(at)

    def step(self, now: float) -> ProbeStep:
        if self._gave_up:
            return ProbeStep.NOTHING
        if self._asked_at is not None:
            if now - self._asked_at < self._patience:
                return ProbeStep.NOTHING
            if self._proven:
                return ProbeStep.HUNG
            self._gave_up = True
            return ProbeStep.NOT_ANSWERED
        # The first probe is sent at once, so that a hang is detected from the start.
        if not self._proven or now - self._heard_at >= self._every:
            self._asked_at = now
            return ProbeStep.SEND
        return ProbeStep.NOTHING


MakeLink = Callable[[LinkOptions, LinkEvents, LinkTraffic, asyncio.AbstractEventLoop], BrokerLink]


class End(NamedTuple):
    why: Why
    detail: str


class Session:
    """One connection. A new connection needs a new session. `ready` is called once the broker has accepted us and our
    subscriptions, on the loop's thread and possibly from inside a method of the session."""

    def __init__(
        self,
        options: MqttOptions,
        link_options: LinkOptions,
        filters: Iterable[str],
        traffic: LinkTraffic,
        ready: Callable[[BrokerSession, BrokerLink], None],
        make_link: MakeLink,
    ) -> None:
        self._options = options
        self._echo = link_options.echo
        self._filters = list(filters)
        self._emit = traffic.emit
        self._became_ready = ready
        self._loop = asyncio.get_running_loop()
        self._address = link_options.address
        self._opened: BrokerSession | None = None
        self._subscribing: dict[int, Sequence[str]] = {}
        self._probe: Probe | None = None
        self._paused = False
        self._end: End | None = None
        self._ended = asyncio.Event()
        self.ready_at: float | None = None
        self._link = make_link(link_options, self, traffic, self._loop)

    @property
    def ready(self) -> bool:
        """True if the broker has accepted us and our subscriptions."""
        return self.ready_at is not None and self._end is None

    async def run(self) -> End:
        """Connect; return the reason once the connection is over."""
        self._link.open()
        until = self._loop.time() + self._options.connect_timeout
        while self._end is None:
            try:
                await asyncio.wait_for(self._ended.wait(), self._options.tick)
            except TimeoutError:
                self._tick(until)
        return self._end

    def _tick(self, until: float) -> None:
        now = self._loop.time()
        self._link.tick()
        if self._end is not None:
            return
        if self.ready_at is None:
            if now >= until:
                self.abort(
                    Why.SILENT,
                    f"{self._address.host}:{self._address.port} takes connections but does not answer. It hangs, "
                    "or is no MQTT broker.",
                )
        elif self._probe is not None and not self._paused:
            self._ask(self._probe, now)

    def _ask(self, probe: Probe, now: float) -> None:
        if self._link.echoed:
            probe.answered(self._link.heard_at)
        else:
            probe.heard(self._link.heard_at)
        match probe.step(now):
            case ProbeStep.SEND:
                self._link.publish(self._echo, b"", 0, False)
            case ProbeStep.NOT_ANSWERED:
                self._emit(ProbeUnanswered(self._echo, "" if self._link.heard_at else _DEAF))
            case ProbeStep.HUNG:
                self.abort(
                    Why.SILENT,
                    f"The broker passes nothing on any more: a packet to ourselves did not come back within "
                    f"{self._options.probe_patience:g} s. It hangs, or is overloaded.",
                )

    def subscribe(self, topic_filter: str) -> None:
        if self._opened is None:
            self._filters.append(topic_filter)
        else:
            self._subscribing[self._link.subscribe([topic_filter])] = [topic_filter]

    def unsubscribe(self, topic_filter: str) -> None:
        if self._opened is not None:
            self._link.unsubscribe(topic_filter)
        elif topic_filter in self._filters:
            self._filters.remove(topic_filter)

    def pause(self) -> None:
        """Read nothing until `resume`, once the connection is made: until then, what comes is about that alone."""
        self._paused = True
        if self.ready:
            self._link.pause()

    def resume(self) -> None:
        self._paused = False
        self._link.resume()
        if self._probe is not None:
            self._probe.heard(self._loop.time())  # we were paused ourselves: the silence says nothing about the broker

    async def leave(self, patience: float) -> None:
        """Disconnect, and wait at most `patience` seconds for the end."""
        self._link.disconnect()
        try:
            await asyncio.wait_for(self._ended.wait(), patience)
        except TimeoutError:
            self.abort(Why.CLOSED, "")

    def abort(self, why: Why, detail: str) -> None:
        self._link.abort(why, detail)

    # Events of the link.

    def link_opened(self, opened: BrokerSession) -> None:
        self._opened = opened
        everything = [self._echo, *self._filters]
        self._subscribing[self._link.subscribe(everything)] = everything

    def link_subscribed(self, packet_id: int, refusals: Sequence[str | None]) -> None:
        for topic_filter, refusal in zip(self._subscribing.pop(packet_id, ()), refusals, strict=False):
            if refusal is None:
                continue
            if topic_filter == self._echo:
                self._emit(ProbeUnanswered(self._echo, ""))
            else:
                self._emit(SubscribeRefused(topic_filter, _UNREADABLE.format(topic_filter, refusal)))
        if self.ready_at is None and self._opened is not None:
            self.ready_at = now = self._loop.time()
            self._probe = Probe(self._options.probe_every, self._options.probe_patience, now)
            self._became_ready(self._opened, self._link)
            if self._paused:
                self._link.pause()

    def link_closed(self, why: Why, detail: str) -> None:
        self._end = End(why, detail)
        self._ended.set()
