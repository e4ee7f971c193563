"""Use the broker on this machine, or start one: several terminals then need no setup."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sdschat.transport.broker import BrokerConfig, BrokerError, EmbeddedBroker, PortTakenError
from sdschat.transport.broker_process import is_guarded
from sdschat.transport.mqtt_options import MqttOptions

_ENDED: Final = (
    "The broker of this machine has ended. Start it again; or leave all chats here: the next one runs its own."
)
_PROBE_PATIENCE: Final = 1.0
_GUARD_PATIENCE: Final = 0.2  # seconds from when a broker listens; it looks if it does every 10 ms
# When the process that hosts the broker ends, its clients must be connected again within three seconds.
_BACKOFF_FIRST: Final = 0.2
_BACKOFF_LONGEST: Final = 1.0


class EmbeddedHosting:
    """A check before every attempt to connect: if no broker listens, start the embedded one.

    The port decides which of several processes hosts the broker: only one can bind it. The others find it in use, and
    connect to it, and one of them starts the next when it ends. A broker that somebody runs by itself gets no such
    successor: it may serve other machines, which do not reach ours, and could not start again on a port that we took.
    """

    def __init__(self, config: BrokerConfig | None = None, changed: Callable[[bool], None] | None = None) -> None:
        """`changed` gets True when we begin to host the broker, False when we stop."""
        self._broker = EmbeddedBroker(config or BrokerConfig(), inherited=True)
        self._changed = changed
        self._hosted = False
        self._is_of_others = False  # the last broker that answered is run by itself
        self._turn = asyncio.Lock()  # the transports of several channels call `ensure` at the same time

    @property
    def hosting(self) -> bool:
        """True if the broker is a process of ours."""
        return self._broker.running

    async def ensure(self) -> None:
        """Return once a broker listens. Raises BrokerError if none can be started, or one must be waited for."""
        async with self._turn:
            guarded = self._is_guarded()  # asked before and after: the broker may end, or begin, at this moment
            if await self._answers():
                self._is_of_others = not (self.hosting or guarded or self._is_guarded())
            elif self._is_of_others:
                raise BrokerError(_ENDED)
            else:
                await self._take_over()
            self._say()

    async def _take_over(self) -> None:
        await self._broker.stop()  # a broker process of ours that does not listen is of no use
        try:
            await self._broker.start()
        except PortTakenError:
            if not await self._answers():
                raise
            # Another one began at this moment. If it is run by itself, it lets its guard go now.
            await asyncio.sleep(_GUARD_PATIENCE)
            self._is_of_others = not self._is_guarded()

    def _is_guarded(self) -> bool:
        """True if the broker is that of a chat, and has a successor when it ends."""
        return is_guarded(self._broker.config.host, self._broker.config.port)

    async def _answers(self) -> bool:
        config = self._broker.config
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.host, config.host)
        try:
            async with asyncio.timeout(_PROBE_PATIENCE):
                _, writer = await asyncio.open_connection(host, config.port)
        except TimeoutError:
            return True  # the port is bound, and its process hangs: nobody else can bind it
        except OSError:
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True

    async def close(self) -> None:
        """Stop the broker, if it is ours. After this nothing may call `ensure` any more."""
        async with self._turn:
            await self._broker.stop()
            self._say()

    def _say(self) -> None:
        if self._changed is not None and self._hosted != self.hosting:
            self._changed(self.hosting)
        self._hosted = self.hosting

    def options(self, options: MqttOptions) -> MqttOptions:
        """Return the options for a transport that uses this broker and reconnects quickly when its host ends."""
        return replace(
            options,
            before_connect=self.ensure,
            backoff_first=_BACKOFF_FIRST,
            backoff_longest=_BACKOFF_LONGEST,
        )
