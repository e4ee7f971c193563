"""Nodes in memory, some of them Stores."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from sdschat.node.node import Node
from sdschat.node.retention import RetentionLimits
from sdschat.node.settings import Value
from sdschat.node.store_client import client
from sdschat.node.store_client.verify import StoreReputation
from sdschat.node.store_server.answers import Answerer
from sdschat.node.store_server.server import StoreNode, StoreServer
from sdschat.node.sync import extension
from sdschat.transport.memory import MemoryTransport
from sdschat.wire.store_codec import StoreAnswer, StoreQuery
from tests.node.worlds import Member, World, world


class Stores(World):
    """A world in which nodes ask Stores, and some are Stores."""

    def start_asking(
        self,
        name: str,
        *channels: str,
        changes: Mapping[str, Value] | None = None,
        standing: StoreReputation | None = None,
    ) -> Member:
        """A participant that asks Stores."""
        return self._start(name, channels, changes, lambda node: client.install(node, standing))

    def start_late(
        self, name: str, *channels: str, skew: int = 0, changes: Mapping[str, Value] | None = None
    ) -> Member:
        """A participant that asks Stores and catches up, with its clock set wrong by `skew` milliseconds."""

        def extend(node: Node) -> None:
            node.clock.skew = skew
            client.install(node)
            extension.install(node)

        return self._start(name, channels, changes, extend)

    def start_store(
        self,
        name: str,
        *channels: str,
        limits: RetentionLimits | None = None,
        changes: Mapping[str, Value] | None = None,
    ) -> tuple[Member, StoreNode]:
        made: list[StoreNode] = []

        def extend(node: Node) -> None:
            client.install(node)
            extension.install(node)
            made.append(StoreNode(node, node.profile.store, limits or RetentionLimits()))

        member = self._start(name, channels, changes, extend)
        return member, made[0]

    def _start(
        self,
        name: str,
        channels: tuple[str, ...],
        changes: Mapping[str, Value] | None,
        extend: Callable[[Node], object],
    ) -> Member:
        member = self.start(name, "elsewhere", changes=changes)
        extend(member.node)
        for channel in channels or ("lobby",):
            member.node.join(channel)
            for part in member.node.sessions[channel].extensions:
                if isinstance(part, client.StoreClient):
                    part._requests.patience = 60_000  # a machine that is busy is not a Store that is silent
        return member


def transport_of(member: Member, channel: str = "lobby") -> MemoryTransport:
    """The connection itself, under whatever injects faults."""
    transport = member.node.sessions[channel].transport
    inner = getattr(transport, "_inner", transport)
    assert isinstance(inner, MemoryTransport)
    return inner


def deaf(member: Member, channel: str = "lobby") -> None:
    """Nothing that is said in the channel is heard by this one from now on; all other topics are."""
    transport_of(member, channel).unsubscribe(f"sds/1/{channel}/msg")


def hearing(member: Member, channel: str = "lobby") -> None:
    transport_of(member, channel).subscribe(f"sds/1/{channel}/msg")


@contextlib.asynccontextmanager
async def stores(folder: Path) -> AsyncIterator[Stores]:
    async with world(folder) as w:
        made = Stores(folder)
        made.network = w.network
        made.members = w.members
        yield made


def keeper_of(member: Member, channel: str = "lobby") -> StoreServer:
    return next(part for part in member.node.sessions[channel].extensions if isinstance(part, StoreServer))


def client_of(member: Member, channel: str = "lobby") -> client.StoreClient:
    return next(part for part in member.node.sessions[channel].extensions if isinstance(part, client.StoreClient))


Twist = Callable[[StoreQuery, StoreAnswer], StoreAnswer]


class _Twisted(Answerer):
    """Answers, and then says something else."""

    __slots__ = ("_twist",)

    def __init__(self, honest: Answerer, how: Twist) -> None:
        super().__init__(honest._me, honest._channel, honest._archive)
        self._twist = how

    def answer(self, query: StoreQuery, floor: int) -> StoreAnswer:
        return self._twist(query, super().answer(query, floor))


def twist(member: Member, how: Twist, channel: str = "lobby") -> None:
    """From now on this Store sends what `how` makes of its answers."""
    server = keeper_of(member, channel)
    server._answers = _Twisted(server._answers, how)


def silence(member: Member, channel: str = "lobby") -> None:
    """From now on this Store answers nothing."""
    server = keeper_of(member, channel)
    server._send = lambda requester, answer: 0  # type: ignore[method-assign]
