"""What the node sees of any transport: a few verbs, and facts in the past tense.

Everything happens on one event loop's thread. Facts go to one handler, which is called between two steps of that
loop and never from within a verb, so that the handler may call any verb, and a caller needs no guard against being
called back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import NamedTuple, Protocol


class Why(StrEnum):
    """Why a connection is not there. The first two of each group decide the exit code of the command line."""

    UNREACHABLE = "unreachable"  # no answer at the address
    TLS_REFUSED = "tls_refused"  # a certificate, ours or the broker's
    NOT_AUTHORISED = "not_authorised"  # user, password, or what they may do
    PROTOCOL = "protocol"  # what answers does not speak MQTT as we do
    BROKER_CLOSED = "broker_closed"  # the broker said goodbye
    CONNECTION_LOST = "connection_lost"
    SILENT = "silent"  # connected, yet nothing comes back: neither to keep-alive nor to our own probe
    TAKEN_OVER = "taken_over"  # another client came with our client id
    OVERSIZED = "oversized"  # somebody sent us more than we take
    OFFLINE = "offline"  # on purpose: fault injection
    CLOSED = "closed"  # we closed it


class Failure(StrEnum):
    """Why a packet did not go out."""

    TOO_LARGE = "too_large"
    QUEUE_FULL = "queue_full"
    NOT_CONNECTED = "not_connected"  # of QoS 0, which is never kept
    REFUSED = "refused"  # by the broker, with its reason
    CLOSED = "closed"


class Connecting(NamedTuple):
    address: str
    attempt: int  # 1 for the first since the last good connection


class Connected(NamedTuple):
    """The broker took us and every subscription is in force: from now on we hear and are heard."""

    address: str
    protocol: str  # "MQTT 5", "MQTT 3.1.1", "memory"
    max_payload: int
    encrypted: bool
    resumed: bool = False  # the broker had kept our session, and with it what passed meanwhile


class Disconnected(NamedTuple):
    """No connection, or an attempt at one that failed."""

    why: Why
    detail: str  # for a person: what, why, what to do
    retry_at: float | None  # on the loop's clock, in seconds; None: never


class Receipt(NamedTuple):
    """Of a packet that the broker sends again, to our next connection too, until it is acknowledged."""

    packet_id: int
    again: bool  # it may have been sent before, and we could not say any more that we have it
    acknowledge: Callable[[], None]


class Received(NamedTuple):
    topic: str
    payload: bytes
    retained: bool  # kept by the broker from earlier, not sent just now
    receipt: Receipt | None = None  # only where the transport keeps a session


class Published(NamedTuple):
    """The broker took it over (QoS 1), or it was handed to the network (QoS 0). Nobody else need have it."""

    tag: Hashable


class PublishFailed(NamedTuple):
    tag: Hashable
    failure: Failure
    detail: str  # for a person


class SubscribeRefused(NamedTuple):
    topic_filter: str
    detail: str


class HandlerFailed(NamedTuple):
    """The handler raised. The connection lives on; the fact it was given is gone."""

    error: Exception
    event: object


class Crashed(NamedTuple):
    """The transport ended by an error in the program itself. It never connects again."""

    error: Exception


class ProbeUnanswered(NamedTuple):
    """Our own probe never came back on this connection, though it is alive: a hang is noticed by keep-alive only."""

    topic: str


Event = (
    Connecting
    | Connected
    | Disconnected
    | Received
    | Published
    | PublishFailed
    | SubscribeRefused
    | HandlerFailed
    | Crashed
    | ProbeUnanswered
)
Handler = Callable[[Event], None]


class Transport(Protocol):
    """`publish` with QoS 1 survives a reconnect: what was not taken over is sent again, in order, once connected."""

    def listen(self, handler: Handler) -> None:
        """Who is told. Before `start`."""

    def start(self) -> None:
        """Connect, and stay connected until `close`. Needs a running loop."""

    async def close(self, grace: float = 1.0) -> None:
        """Send what waits, within `grace` seconds; clear the presence; disconnect. Never raises."""

    def subscribe(self, topic_filter: str) -> None:
        """In force at every `Connected` from now on. Own packets may or may not come back."""

    def unsubscribe(self, topic_filter: str) -> None: ...

    def publish(self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False, tag: Hashable = None) -> None:
        """Exactly one `Published` or `PublishFailed` with this tag follows."""

    def set_presence(self, payload: bytes) -> None:
        """What the retained presence topic says of us, if this transport has one."""

    def pause(self) -> None:
        """Take nothing more from the network until `resume`: the handler's side is full."""

    def resume(self) -> None: ...

    def retry_now(self) -> None:
        """Do not wait for the next attempt to connect."""

    @property
    def connected(self) -> bool: ...

    @property
    def waiting(self) -> int:
        """Packets that wait for the broker to take them over."""

    def describe(self) -> str:
        """Where to and how, without secrets, with every fault that is injected."""


_MAX_TOPIC_BYTES = 65535


def publish_problem(topic: str, qos: int) -> str | None:
    """Why this cannot be published at all: a wrong call by our own code."""
    if not topic or "+" in topic or "#" in topic or "\0" in topic:
        return f"{topic!r} is not a topic to publish on"
    if len(topic.encode()) > _MAX_TOPIC_BYTES:
        return f"the topic has more than {_MAX_TOPIC_BYTES} bytes"
    return None if qos in (0, 1) else f"QoS is 0 or 1 here, not {qos}"
