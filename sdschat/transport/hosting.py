"""Find a broker on this machine, or be the one who starts it: so that several terminals need no setting up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sdschat.transport.broker import BrokerConfig, EmbeddedBroker, PortTakenError
from sdschat.transport.options import MqttOptions

_PROBE_PATIENCE: Final = 1.0
# When the host of the broker ends, its clients are to be together again within three seconds.
_BACKOFF_FIRST: Final = 0.2
_BACKOFF_LONGEST: Final = 1.0


class Hosting:
    """Sees before every attempt to connect that something listens, and starts the embedded broker if nothing does.

    Who of several is the one is settled by the port: it can be bound once. The others find it taken, and connect.
    """

    def __init__(self, config: BrokerConfig | None = None, tell: Callable[[bool], None] | None = None) -> None:
        """`tell` hears True when we begin to host the broker, False when we do not any more."""
        self._broker = EmbeddedBroker(config or BrokerConfig())
        self._tell = tell
        self._hosted = False
        self._turn = asyncio.Lock()  # the transports of several channels ask at the same time

    @property
    def hosting(self) -> bool:
        """Whether the broker is a process of ours."""
        return self._broker.running

    async def ensure(self) -> None:
        """Come back when something listens. Raises BrokerError if that cannot be brought about."""
        async with self._turn:
            if not await self._answers():
                await self._take_over()
            self._say()

    async def _take_over(self) -> None:
        await self._broker.stop()  # if it is there and does not listen, it is of no use
        try:
            await self._broker.start()
        except PortTakenError:
            if not await self._answers():
                raise

    async def _answers(self) -> bool:
        config = self._broker.config
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.host, config.host)
        try:
            async with asyncio.timeout(_PROBE_PATIENCE):
                _, writer = await asyncio.open_connection(host, config.port)
        except TimeoutError:
            return True  # the port is bound, and its owner hangs: nobody can take it over
        except OSError:
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True

    async def close(self) -> None:
        """End the broker, if it is ours. After this nothing may call `ensure` any more."""
        async with self._turn:
            await self._broker.stop()
            self._say()

    def _say(self) -> None:
        if self._tell is not None and self._hosted != self.hosting:
            self._tell(self.hosting)
        self._hosted = self.hosting

    def options(self, options: MqttOptions) -> MqttOptions:
        """The same options, for a transport that uses this broker and comes back quickly when its host is gone."""
        return replace(
            options,
            before_connect=self.ensure,
            backoff_first=_BACKOFF_FIRST,
            backoff_longest=_BACKOFF_LONGEST,
        )
