"""Members that catch up, and what they have in their logs."""

from __future__ import annotations

from collections.abc import Mapping

from sdschat.node.clock import Clock
from sdschat.node.events import CatchingUp, MessageDelivered
from sdschat.node.node import Node
from sdschat.node.profile import open_profile
from sdschat.node.retention import RetentionLimits
from sdschat.node.settings import Value, make_settings
from sdschat.node.store_client import client
from sdschat.node.store_server.server import StoreNode
from sdschat.node.sync import extension
from sdschat.wire.sds_codec import SdsCodec
from tests.node.worlds import QUICK, InMemory, Member, World

CODEC = SdsCodec()


DAY = 24 * 3600 * 1000


def _ago(by: int) -> Clock:
    """A clock that is behind, as if all of this had happened earlier."""
    clock = Clock()
    clock.skew = -by
    return clock


def start(
    w: World,
    name: str,
    channel: str = "lobby",
    ago: int = 0,
    alone: bool = False,
    store: bool = False,
    **changes: Value,
) -> Member:
    """`alone`: nothing comes to it but by catching up. `store`: it is a Store."""
    given: Mapping[str, Value] = {key.replace("__", "."): value for key, value in changes.items()}
    settings = make_settings(QUICK | dict(given))
    node = Node(open_profile(w.path(name), settings), name, settings, InMemory(w.network, settings), _ago(ago))
    client.install(node)
    extension.install(node)
    if store:
        StoreNode(node, node.profile.store, RetentionLimits())
    member = Member(node)
    w.members.append(member)
    session = node.join(channel)
    if alone:
        session.transport.unsubscribe(f"sds/1/{channel}/msg")
    return member


async def say(member: Member, *texts: str, channel: str = "lobby") -> None:
    for text in texts:
        member.node.send(channel, text)
    await member.until(MessageDelivered, lambda told: told.said.opened.text == texts[-1])


async def stop(w: World, member: Member) -> None:
    await member.node.close(0.1)
    w.members.remove(member)


async def wrote(w: World, name: str, *texts: str, ago: int = DAY) -> None:
    """Somebody was there some time ago, alone, and is gone."""
    member = start(w, name, ago=ago)
    await say(member, *texts)
    await stop(w, member)


async def caught_up(member: Member) -> CatchingUp:
    return await member.until(CatchingUp, lambda told: told.state == "done")


def log_of(member: Member, channel: str = "lobby") -> list[str]:
    """The texts of the log, in its order."""
    store = member.node.profile.store
    with store.open_read_only(store.path, CODEC) as reader:
        return [message.text or "" for message in reader.messages(channel)]
