"""A node that is killed in its process: what was not saved is gone, and the broker tells the others."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.events import PresenceChanged
from sdschat.node.settings import make_settings
from sdschat.node.tools.local_group import LocalGroup
from tests.needs import needs_module
from tests.node.worlds import Member, World, world


def texts(w: World, member: Member) -> list[str]:
    store, codec = member.node.profile.store, member.node.profile.codec
    with store.open_read_only(w.path("ann"), codec) as reader:
        return [message.text or "" for message in reader.messages("lobby")]


def test_what_was_not_saved_is_lost_and_the_rest_is_there(tmp_path: Path) -> None:
    async def told() -> None:
        async with world(tmp_path) as w:
            ann, bob = w.start("ann"), w.start("bob")
            ann.node.send("lobby", "saved")
            await bob.until_texts("saved")
            ann.node.send("lobby", "not yet")
            await ann.node.kill()
            assert texts(w, ann) == ["saved"]
            again = w.start("ann")
            again.node.send("lobby", "again")
            await bob.until_texts("saved", "again")

    asyncio.run(told())


def test_the_others_hear_of_it_from_the_broker(tmp_path: Path) -> None:
    needs_module("iotcore")

    async def told() -> None:
        group = LocalGroup(tmp_path, make_settings({}, "demo"), "lobby")
        await group.admit(("ann", "bob"))
        try:
            guest, host = ("bob", "ann") if group.host == "ann" else ("ann", "bob")
            seen = Member(group.nodes[host])
            sender_id = group.nodes[guest].sender_id
            await group.nodes[guest].kill()
            await seen.until(PresenceChanged, lambda change: change.sender_id == sender_id and not change.online)
        finally:
            await group.close()

    asyncio.run(told())
