"""The way to the broker: which transport a channel gets, and who hosts the broker.

The clients of MQTT are imported with the first transport: nobody needs them before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from sdschat.node.settings import Settings
from sdschat.transport.base import Transport

if TYPE_CHECKING:
    from sdschat.transport.client import MqttTransport
    from sdschat.transport.embedded import EmbeddedHosting
    from sdschat.transport.fault_lane import Scheduler
    from sdschat.transport.mqtt_options import MqttOptions

Hosts = Callable[[bool], None]


class TransportFactory(Protocol):
    """Makes the transport of each channel, with a presence topic of its own since there is one last will for each."""

    def transport(self, presence_topic: str) -> Transport: ...

    def listen(self, hosts: Hosts) -> None:
        """Register the callback that is called when we begin or stop hosting the broker."""

    async def close(self) -> None: ...


def with_faults(transport: Transport, settings: Settings, clock: Scheduler, lane: str) -> Transport:
    """Put the transport behind the faults that the settings ask for, from a seed of their own for each channel."""
    if not settings.faults.active:
        return transport
    from sdschat.transport.faults import FaultyTransport

    seed = int.from_bytes(f"{settings.fault_seed}/{lane}".encode(), "big")
    return FaultyTransport(transport, clock, settings.faults, seed)


class MqttNetwork:
    """A broker at an address, or, with `embedded`, one on this machine that somebody starts when there is none."""

    def __init__(self, options: MqttOptions, settings: Settings, *, embedded: bool) -> None:
        self._settings = settings
        self._hosts: Hosts | None = None
        limit = max(options.max_payload, settings.config.max_message_bytes)
        self._options = replace(options, prefix=settings.topic_prefix, max_payload=limit)
        self._embedded = embedded
        self._hosting: EmbeddedHosting | None = None
        self._transports: WeakSet[MqttTransport] = WeakSet()

    def listen(self, hosts: Hosts) -> None:
        self._hosts = hosts

    def _hosting_changed(self, hosting: bool) -> None:
        if self._hosts is not None:
            self._hosts(hosting)

    def _host(self) -> None:
        """Prepare to start the embedded broker whenever there is none."""
        from sdschat.transport.broker import BrokerConfig
        from sdschat.transport.embedded import EmbeddedHosting

        address = self._options.address
        self._hosting = EmbeddedHosting(BrokerConfig(address.host, address.port), self._hosting_changed)
        self._options = self._hosting.options(self._options)

    @property
    def hosting(self) -> bool:
        """True if the embedded broker is a process of ours."""
        return self._hosting is not None and self._hosting.hosting

    async def stop_hosting(self) -> None:
        """End the embedded broker if it is ours. Whoever connects next starts another one."""
        if self._hosting is not None:
            await self._hosting.close()

    def transport(self, presence_topic: str) -> Transport:
        from sdschat.transport.client import MqttTransport

        if self._embedded and self._hosting is None:
            self._host()
        inner = MqttTransport(replace(self._options, presence_topic=presence_topic), reached=self._reached)
        self._transports.add(inner)
        return with_faults(inner, self._settings, asyncio.get_running_loop(), presence_topic)

    def _reached(self) -> None:
        """Let all other channels connect now: it is the broker that they wait for, each with a back-off of its own."""
        for transport in self._transports:
            if not transport.connected:
                transport.retry_now()

    async def close(self) -> None:
        if self._hosting is not None:
            await self._hosting.close()
