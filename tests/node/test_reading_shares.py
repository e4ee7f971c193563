"""Reading that is done for others when they compare: a share of those who are known, and one of new keys."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.node.events import MessageDelivered
from sdschat.node.sync import history_sync
from sdschat.node.sync.extension import sync_extension
from tests.node.catching import start
from tests.node.worlds import world


def test_whoever_signs_and_spoke_a_day_ago_has_the_share_of_those_who_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            bob.node.send("lobby", "hello")
            await ann.until(MessageDelivered)
            catchup, peer = sync_extension(ann.node, "lobby").catchup, bob.node.sender_id
            catchup.signing.add(peer)
            assert not catchup.exchange._budgets._is_known(peer), "met just now"
            monkeypatch.setattr(history_sync, "DAY", 0)
            assert catchup.exchange._budgets._is_known(peer)
            catchup.signing.discard(peer)
            assert not catchup.exchange._budgets._is_known(peer), "anybody may use its name"

    asyncio.run(story())
