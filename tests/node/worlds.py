"""Nodes that share a network in memory, in one process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from sdschat.node.events import MessageDelivered, NodeEvent
from sdschat.node.network import Hosts, with_faults
from sdschat.node.node import Node
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import Settings, Value, make_settings
from sdschat.transport.base import Transport
from sdschat.transport.memory import MemoryNetwork

T = TypeVar("T")
PATIENCE = 15.0
# Quick enough for a test to wait for.
QUICK: dict[str, Value] = {
    "sds.sync_interval": 200,
    "sds.resend_unacked": 300,
    "sds.resend_possibly_acked": 300,
    "sds.resend_max": 1000,
    "sds.sweep_interval": 20,
    "repair.t_min": 50,
    "repair.t_max": 300,
    "push.grace": 50,
    "push.delay_min": 10,
    "push.delay_max": 50,
    "trust.messages_per_minute": 0,  # many tests say in a second what takes people an hour
}


class InMemory:
    """The network of nodes of one process."""

    def __init__(self, network: MemoryNetwork, settings: Settings) -> None:
        self._network = network
        self._settings = settings

    def transport(self, presence_topic: str) -> Transport:
        inner = self._network.transport(presence_topic)
        return with_faults(inner, self._settings, asyncio.get_running_loop(), presence_topic)

    def listen(self, hosts: Hosts) -> None:
        """There is no broker."""

    async def close(self) -> None:
        """There is nothing to end."""


class Member:
    """A node with a memory of what it told."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.facts: list[NodeEvent] = []
        self._changed = asyncio.Event()
        node.listen(self._hear)

    def _hear(self, event: NodeEvent) -> None:
        self.facts.append(event)
        self._changed.set()

    def of(self, kind: type[T]) -> list[T]:
        return [event.body for event in self.facts if isinstance(event.body, kind)]

    async def until(self, kind: type[T], where: Callable[[T], bool] = lambda _: True) -> T:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = next((what for what in self.of(kind) if where(what)), None)
                if found is not None:
                    return found
                self._changed.clear()
                await self._changed.wait()

    async def until_texts(self, *texts: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while sorted(self.texts()) != sorted(texts):
                self._changed.clear()
                await self._changed.wait()

    def texts(self) -> list[str]:
        return [told.said.opened.text or "" for told in self.of(MessageDelivered)]

    def shown(self) -> list[str | None]:
        """Return the texts that a reader of the database gets."""
        store = self.node.profile.store
        with store.open_read_only(store.path, self.node.profile.codec) as reader:
            return [message.text for message in reader.messages("lobby")]


class World:
    """One network, one folder of profiles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.network = MemoryNetwork(asyncio.get_running_loop().call_soon)
        self.members: list[Member] = []

    def start(
        self,
        name: str,
        *channels: str,
        profile: str = "",
        changes: Mapping[str, Value] | None = None,
        before: Callable[[Node], object] = lambda _: None,
    ) -> Member:
        """`before` gets the node while it is in no channel."""
        settings = make_settings(QUICK | dict(changes or {}))
        opened = open_profile(self.path(profile or name), settings)
        member = Member(Node(opened, name, settings, InMemory(self.network, settings)))
        before(member.node)
        for channel in channels or ("lobby",):
            member.node.join(channel)
        self.members.append(member)
        return member

    def path(self, profile: str) -> Path:
        return database_path(self.folder, profile)


@contextlib.asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    """At the end every node is closed."""
    made = World(folder)
    try:
        yield made
    finally:
        for member in made.members:
            await member.node.close(0.1)


def run(tmp_path: Path, story: Callable[[World], Awaitable[None]]) -> None:
    """Let a story happen in a world of its own."""

    async def whole() -> None:
        async with world(tmp_path) as w:
            await story(w)

    asyncio.run(whole())
