"""A comparison settles what filters, mentions and repair requests cannot: much more than they hold, at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from sdschat.node.events import HandedOver, MessageDelivered
from sdschat.sds.events import MessageResent
from tests.node.catching import caught_up, log_of, say, start
from tests.node.worlds import PATIENCE, Member, world

# Sync messages come too late to acknowledge anything within this test.
SLOW: dict[str, Any] = {
    "sds__sync_interval": 600_000,
    "sds__resend_unacked": 300_000,
    "sds__resend_possibly_acked": 300_000,
    "sds__resend_max": 600_000,
}
COUNT = 1500


async def _until_settled(member: Member, most: int) -> None:
    state = member.node.sessions["lobby"].channel.state
    async with asyncio.timeout(PATIENCE):
        while len(state.outgoing.open) > most:
            await asyncio.sleep(0.05)


def test_a_long_feed_is_acknowledged_by_a_comparison_with_a_store(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            store = start(w, "store", store=True, **SLOW)
            ann = start(w, "ann", **SLOW)
            for member in (ann, store):
                await caught_up(member)
            for number in range(COUNT):
                ann.node.send("lobby", f"number {number}")
                if not number % 50:
                    await asyncio.sleep(0)
            await store.until(MessageDelivered, lambda told: told.said.opened.text == f"number {COUNT - 1}")
            await _until_settled(ann, 0)
            assert ann.of(MessageResent) == []

    asyncio.run(story())


async def _until_sent(member: Member) -> None:
    await member.until(
        HandedOver, lambda told: told.message_id == member.of(MessageDelivered)[-1].said.message.message_id
    )


def test_a_stretch_of_a_burst_that_was_lost_is_caught_up_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann", **SLOW), start(w, "bob", **SLOW)
            for member in (ann, bob):
                await caught_up(member)
            heard = bob.node.sessions["lobby"].transport
            lost = [f"lost {number}" for number in range(60)]
            later = [f"later {number}" for number in range(200)]
            await say(ann, "hello")
            await bob.until_texts("hello")
            heard.unsubscribe("sds/1/lobby/msg")
            await say(ann, *lost)
            await _until_sent(ann)
            heard.subscribe("sds/1/lobby/msg")
            await say(ann, *later)
            await bob.until_texts("hello", *lost, *later)
            assert log_of(bob) == ["hello", *lost, *later]

    asyncio.run(story())
