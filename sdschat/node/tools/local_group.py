"""Several nodes in one process, on an embedded broker of their own: for demonstrations, and pictures of them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.node.events import ConnectionChanged, NodeEvent
from sdschat.node.network import MqttNetwork
from sdschat.node.node import Node
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import Settings
from sdschat.transport.address import LOCAL, Address
from sdschat.transport.mqtt_options import MqttOptions

_PATIENCE: Final = 20.0  # seconds for all to be connected


class LogState(NamedTuple):
    """The summary of a log: equal logs have equal values."""

    messages: int
    fingerprint: str


class LocalGroup:
    """The nodes by nick. The first one starts the broker; when it ends, another takes over."""

    def __init__(self, folder: Path, settings: Settings, channel: str) -> None:
        self.nodes: dict[str, Node] = {}
        self.channel = channel
        self.port = _free_port()
        self._folder = folder
        self._settings = settings
        self._networks: dict[str, MqttNetwork] = {}

    async def admit(self, nicks: Sequence[str], present: Callable[[Node], None] = lambda _: None) -> None:
        """Open a node each, join the channel, and come back when all are connected. `present` gets every node before
        anything happens to it. Raises TimeoutError, and what opening a profile raises."""
        try:
            together = [self._joined(self.open(nick, present)) for nick in nicks]
            async with asyncio.timeout(_PATIENCE):
                await asyncio.gather(*together)
        except BaseException:
            await self.close()
            raise

    def open(self, nick: str, present: Callable[[Node], None] = lambda _: None) -> Node:
        """Return a node that is in no channel yet."""
        options = MqttOptions(Address(LOCAL.scheme, LOCAL.host, self.port))
        network = MqttNetwork(options, self._settings, embedded=True)
        profile = open_profile(database_path(self._folder, nick), self._settings)
        node = self.nodes[nick] = Node(profile, nick, self._settings, network)
        node.broker = str(options.address)  # not the broker that a command without --broker finds
        self._networks[nick] = network
        present(node)
        return node

    def _joined(self, node: Node) -> asyncio.Future[None]:
        connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def hear(event: NodeEvent) -> None:
            body = event.body
            if isinstance(body, ConnectionChanged) and body.state == "connected" and not connected.done():
                connected.set_result(None)

        node.listen(hear)
        node.join(self.channel)
        return connected

    async def restart(self, nick: str, present: Callable[[Node], None], away: float) -> None:
        """Kill a node, open its profile again after so many seconds, and come back when it is connected. Raises
        TimeoutError, and what opening a profile raises."""
        await self.nodes[nick].kill()
        await asyncio.sleep(away)
        async with asyncio.timeout(_PATIENCE):
            await self._joined(self.open(nick, present))

    def log_state(self, nick: str) -> LogState:
        """Return the summary of the log of this node."""
        store = self.nodes[nick].profile.store
        return LogState(store.messages(self.channel), store.fingerprint(self.channel))

    def equal_logs(self) -> bool:
        return len({self.log_state(nick) for nick in self.nodes}) <= 1

    @property
    def host(self) -> str:
        """Return the nick of the node that hosts the broker; empty while no node hosts it."""
        return next((nick for nick, network in self._networks.items() if network.hosting), "")

    async def end_broker(self) -> None:
        """End the broker as if its process had ended: somebody takes over."""
        await asyncio.gather(*(network.stop_hosting() for network in self._networks.values()))

    async def close(self) -> None:
        """Close all nodes, the one that hosts the broker last."""
        guests = [nick for nick in self.nodes if nick != self.host]
        for nick in guests:
            with contextlib.suppress(Exception):
                await self.nodes[nick].close(0.2)
        for nick in set(self.nodes) - set(guests):
            await self.nodes[nick].close(0.2)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((LOCAL.host, 0))
        port: int = found.getsockname()[1]
        return port
