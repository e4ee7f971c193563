"""The interface of one MQTT connection for the rest of the transport. No name of an MQTT library appears here."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sdschat.transport.address import Address, Secret
from sdschat.transport.base import Receipt, Why


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
    will_topic: str | None = None  # of a retained presence; the last will clears it
    session_kept: int = 0  # seconds for which the broker keeps the session of this client id; 0: no session


class Opened(NamedTuple):
    """The broker accepted the connection, with these limits."""

    max_packet: int | None  # bytes
    window: int  # number of unacknowledged packets that the broker allows
    resumed: bool = False  # the broker had kept our session


class LinkEvents(Protocol):
    """The receiver of a connection's events. Called on the loop's thread, possibly from inside a method of the link."""

    def link_opened(self, opened: Opened) -> None: ...

    def link_closed(self, why: Why, detail: str) -> None:
        """Report the end. Called exactly once, also if the connection was never opened."""

    def link_received(self, topic: str, payload: bytes, retained: bool, receipt: Receipt | None = None) -> None: ...

    def link_answered(self, packet_id: int, refusal: str | None) -> None: ...

    def link_subscribed(self, packet_id: int, refusals: Sequence[str | None]) -> None: ...


class Link(Protocol):
    """One connection. It cannot be used after `link_closed`."""

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
