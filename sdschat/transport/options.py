"""All settings of an MQTT transport."""

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
    """Settings of an MQTT transport; times in seconds. With the defaults a broker that hangs is noticed within 41 s."""

    address: Address = LOCAL
    password: Secret | None = None
    tls: TlsOptions = field(default_factory=TlsOptions)
    allow_clear_password: bool = False
    prefix: str = DEFAULT_PREFIX
    # A connection has one last will, so one presence topic: a node in several channels has one transport for each.
    presence_topic: str | None = None
    before_connect: Callable[[], Awaitable[None]] | None = None  # for the embedded broker: ensure that one runs
    # A client id, and for how many seconds the broker keeps its session while we are away. With a session we must
    # acknowledge what we receive. Empty: a new id for each transport, and no session.
    session: str = ""
    session_kept: int = 0

    keepalive: int = 20
    probe_every: float = 15.0
    probe_patience: float = 15.0
    connect_timeout: float = 10.0
    tick: float = 1.0
    backoff_first: float = 1.0
    backoff_longest: float = 60.0
    stable_after: float = 10.0  # a connection that lasted this long resets the back-off

    max_payload: int = 256 * KIB  # of a packet that we send
    max_incoming: int = 1 * MIB  # of a packet that we accept
    window: int = 200  # unacknowledged packets at once, if the broker allows it
    queue_packets: int = 10_000
    queue_bytes: int = 32 * MIB
