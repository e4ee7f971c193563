"""One MQTT connection, as the rest of the transport sees it: no name of any MQTT library appears here."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sdschat.transport.address import Address, Secret
from sdschat.transport.base import Receipt, Why


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """What one connection is made with."""

    address: Address
    client_id: str
    version: int  # 5 or 3, for MQTT 3.1.1
    keepalive: int  # seconds
    dial_timeout: float  # seconds
    max_incoming: int  # bytes of one packet
    echo: str = ""  # the one topic on which we want to hear ourselves
    password: Secret | None = None
    tls: ssl.SSLContext | None = None
    will_topic: str | None = None  # retained; the will clears it
    session_kept: int = 0  # seconds that the broker keeps the session of this client id; 0: it does not


class Opened(NamedTuple):
    """The broker took us, and this is what it said about itself."""

    max_packet: int | None  # bytes
    window: int  # packets that it lets us have under way
    resumed: bool = False  # it had kept our session


class LinkEvents(Protocol):
    """Who is told about a connection. Called on the loop's thread, possibly from within a verb."""

    def link_opened(self, opened: Opened) -> None: ...

    def link_closed(self, why: Why, detail: str) -> None:
        """Told exactly once, whether or not it was ever opened."""

    def link_received(self, topic: str, payload: bytes, retained: bool, receipt: Receipt | None = None) -> None: ...

    def link_answered(self, packet_id: int, refusal: str | None) -> None: ...

    def link_subscribed(self, packet_id: int, refusals: Sequence[str | None]) -> None: ...


class Link(Protocol):
    """One connection. After `link_closed` it is of no more use."""

    def open(self) -> None: ...

    def subscribe(self, topic_filters: Sequence[str]) -> int: ...

    def unsubscribe(self, topic_filter: str) -> None: ...

    def publish(self, topic: str, payload: bytes, qos: int, retain: bool) -> int: ...

    def tick(self) -> None:
        """Look after the keep-alive; about once a second."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def disconnect(self) -> None:
        """Politely: the broker forgets the last will."""

    def abort(self, why: Why, detail: str) -> None:
        """At once, whatever the other side does."""
