"""The interface of all transports for the node: a few methods, and events that report what has happened.

Everything runs on the thread of one event loop. All events go to one handler. The handler is called between two steps
of that loop and never from inside a method of the transport. So the handler may call any method, and a caller of a
method needs no protection against a call back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import NamedTuple, Protocol


class Why(StrEnum):
    """The reason for a missing connection. The first two of each group decide the exit code of the command line."""

    UNREACHABLE = "unreachable"  # no answer at the address
    TLS_REFUSED = "tls_refused"  # a certificate, ours or the broker's
    NOT_AUTHORISED = "not_authorised"  # wrong user or password, or missing permission
    PROTOCOL = "protocol"  # the other side does not speak MQTT as we do
    BROKER_CLOSED = "broker_closed"  # the broker ended the connection with a message
    CONNECTION_LOST = "connection_lost"
    SILENT = "silent"  # connected, but nothing answers: neither the keep-alive nor our own probe
    TAKEN_OVER = "taken_over"  # another client connected with our client id
    OVERSIZED = "oversized"  # somebody sent us a packet above our size limit
    OFFLINE = "offline"  # on purpose: fault injection
    CLOSED = "closed"  # we closed it


class Failure(StrEnum):
    """The reason why a packet was not sent."""

    TOO_LARGE = "too_large"
    QUEUE_FULL = "queue_full"
    NOT_CONNECTED = "not_connected"  # a packet of QoS 0, which is never queued
    REFUSED = "refused"  # by the broker, with its reason
    CLOSED = "closed"


class Connecting(NamedTuple):
    address: str
    attempt: int  # 1 for the first attempt after the last good connection


class Connected(NamedTuple):
    """The broker accepted us and every subscription is active: from now on we receive and can send."""

    address: str
    protocol: str  # "MQTT 5", "MQTT 3.1.1", "memory"
    max_payload: int
    encrypted: bool
    resumed: bool = False  # the broker had kept our session, with the packets that came in the meantime


class Disconnected(NamedTuple):
    """No connection, or an attempt at one that failed."""

    why: Why
    detail: str  # for the user: what happened, why, what to do
    retry_at: float | None  # in seconds of the loop's clock; None: never


class Receipt(NamedTuple):
    """The means to acknowledge a packet. The broker repeats the packet, also on our next connection, until then."""

    packet_id: int
    again: bool  # the broker may have sent it before, to a connection that could no longer acknowledge it
    acknowledge: Callable[[], None]


class Received(NamedTuple):
    topic: str
    payload: bytes
    retained: bool  # kept by the broker from an earlier time, not sent just now
    receipt: Receipt | None = None  # only if the transport keeps a session
    outdated: bool = False  # in a private channel: sealed with the key of an earlier epoch


class Published(NamedTuple):
    """The broker accepted the packet (QoS 1), or it went to the network (QoS 0). Nobody else needs to have it yet."""

    tag: Hashable


class PublishFailed(NamedTuple):
    tag: Hashable
    failure: Failure
    detail: str  # for a person


class SubscribeRefused(NamedTuple):
    topic_filter: str
    detail: str


class HandlerFailed(NamedTuple):
    """The handler raised. The connection stays; the event that the handler got is lost."""

    error: Exception
    event: object


class Crashed(NamedTuple):
    """The transport ended by an error in the program itself. It never connects again."""

    error: Exception


class ProbeUnanswered(NamedTuple):
    """Our own probe never came back on this live connection: from now on only the keep-alive can detect a hang."""

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
    """`publish` with QoS 1 survives a reconnect: packets not yet accepted are sent again, in order, once connected."""

    def listen(self, handler: Handler) -> None:
        """Set the handler of all events. Call it before `start`."""

    def start(self) -> None:
        """Connect, and stay connected until `close`. Needs a running loop."""

    async def close(self, grace: float = 1.0) -> None:
        """Send the waiting packets, within `grace` seconds; clear the presence; disconnect. Never raises."""

    def hang_up(self) -> None:
        """Cut the connection without a word, as the end of the process would: the broker publishes our last will. Call
        `close` afterwards."""

    def subscribe(self, topic_filter: str) -> None:
        """Subscribe now and at every `Connected` from now on. Own packets may or may not come back."""

    def unsubscribe(self, topic_filter: str) -> None: ...

    def publish(self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False, tag: Hashable = None) -> None:
        """Exactly one `Published` or `PublishFailed` with this tag follows."""

    def set_presence(self, payload: bytes, leaving: bytes = b"") -> None:
        """Set the payload of our retained presence topic. `leaving` is published there when the connection ends: as the
        last will of connections that begin from now on. Raises ValueError if this transport has no such topic."""

    def pause(self) -> None:
        """Read nothing more from the network until `resume`: the handler's side is full."""

    def resume(self) -> None: ...

    def retry_now(self) -> None:
        """Connect now, without waiting for the next attempt."""

    @property
    def connected(self) -> bool: ...

    @property
    def waiting(self) -> int:
        """The number of packets that wait for the broker to accept them."""

    def describe(self) -> str:
        """Describe the connection: its address without secrets, and every injected fault."""


_MAX_TOPIC_BYTES = 65535


def publish_problem(topic: str, qos: int) -> str | None:
    """Return the reason why this packet cannot be published, or None. A reason means a wrong call by our own code."""
    if not topic or "+" in topic or "#" in topic or "\0" in topic:
        return f"{topic!r} is not a topic to publish on"
    if len(topic.encode()) > _MAX_TOPIC_BYTES:
        return f"the topic has more than {_MAX_TOPIC_BYTES} bytes"
    return None if qos in (0, 1) else f"QoS is 0 or 1 here, not {qos}"
