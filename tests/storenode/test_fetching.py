"""Missing dependencies are asked of a Store first, and left to repair where that does not help."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.facts import MessageDelivered, PresenceChanged
from sdschat.node.store_facts import StoreAnswered, StoreAsked
from sdschat.sds.events import DependenciesMissing, RepairRequested
from tests.storenode.worlds import deaf, hearing, stores

SLOW = {"repair.t_min": 20_000, "repair.t_max": 40_000, "push.enabled": False}


def test_what_was_missed_comes_from_the_store_before_anybody_asks_the_channel(tmp_path: Path) -> None:
    async def story() -> None:
        async with stores(tmp_path) as w:
            keeper, _ = w.start_store("keeper", changes=SLOW)
            ann, bob = w.start_asking("ann", changes=SLOW), w.start_asking("bob", changes=SLOW)
            await bob.until(PresenceChanged, lambda p: p.nick == "keeper")
            ann.node.send("lobby", "hello")
            await bob.until_texts("hello")
            deaf(bob)
            missed = ann.node.send("lobby", "missed")
            await keeper.until(MessageDelivered, lambda m: m.said.message.message_id == missed.message_id)
            hearing(bob)
            ann.node.send("lobby", "after")
            await bob.until_texts("hello", "missed", "after")
            told = {m.said.opened.text: m.via for m in bob.of(MessageDelivered)}
            assert told["missed"] == "store"
            assert bob.of(StoreAsked)[0].message_ids == (missed.message_id,)
            assert bob.of(StoreAnswered)[0].message_ids == (missed.message_id,)
            assert bob.of(DependenciesMissing)
            assert bob.of(RepairRequested) == []

    asyncio.run(story())
