"""Tests of muting: nothing of a participant is shown, and the log is that of everybody."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.node.worlds import world


def test_who_is_muted_is_not_shown_until_shown_again_also_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob, eve = w.start("ann"), w.start("bob"), w.start("eve")
            bob.node.send("lobby", "first")
            await ann.until_texts("first")
            ann.node.mute(bob.node.sender_id, True)
            bob.node.send("lobby", "noise")
            await eve.until_texts("first", "noise")
            eve.node.send("lobby", "after the noise")
            await ann.until_texts("first", "after the noise")
            assert ann.shown() == ["after the noise"]
            await ann.node.close(0.1)
            again = w.start("ann")
            bob.node.send("lobby", "more noise")
            await eve.until_texts("first", "noise", "after the noise", "more noise")
            eve.node.send("lobby", "the end")
            await again.until_texts("the end")
            again.node.mute(bob.node.sender_id, False)
            assert again.shown() == ["first", "noise", "after the noise", "more noise", "the end"]

    asyncio.run(story())


def test_nobody_mutes_themselves(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            with pytest.raises(ValueError, match="yourself"):
                ann.node.mute(ann.node.sender_id, True)

    asyncio.run(story())
