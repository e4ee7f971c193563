"""Everything that decides how an MQTT transport behaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from sdschat.transport.address import LOCAL, Address, Secret
from sdschat.transport.tls import TlsOptions
from sdschat.transport.topics import DEFAULT_PREFIX

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class MqttOptions:
    """Times are in seconds. With the defaults a broker that hangs is noticed within 41 s."""

    address: Address = LOCAL
    password: Secret | None = None
    tls: TlsOptions = field(default_factory=TlsOptions)
    allow_clear_password: bool = False
    prefix: str = DEFAULT_PREFIX
    # A connection has one last will, so one presence topic: a node in several channels has a transport for each.
    presence_topic: str | None = None
    before_connect: Callable[[], Awaitable[None]] | None = None  # for the embedded broker: see that there is one
    # A client id of which the broker keeps the session while we are away, and for how many seconds. What we hear is
    # then ours to acknowledge. Empty: a new id each time, and no session.
    session: str = ""
    session_kept: int = 0

    keepalive: int = 20
    probe_every: float = 15.0
    probe_patience: float = 15.0
    connect_timeout: float = 10.0
    tick: float = 1.0
    backoff_first: float = 1.0
    backoff_longest: float = 60.0
    stable_after: float = 10.0  # a connection that held this long starts the back-off over

    max_payload: int = 256 * KIB  # that we send
    max_incoming: int = 1 * MIB  # of a packet that we take
    window: int = 200  # packets under way at once, if the broker lets us
    queue_packets: int = 10_000
    queue_bytes: int = 32 * MIB
