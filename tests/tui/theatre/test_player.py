"""The pauses of a script, without a screen."""

from __future__ import annotations

import asyncio

from sdschat.tui.theatre.player import ScriptPace


def test_a_script_that_is_halted_in_a_pause_plays_no_further_act() -> None:
    """Its next act was played at the end of the pause, and its caption replaced that of the key."""

    async def story() -> None:
        pace = ScriptPace()
        waits = asyncio.ensure_future(pace.wait(0.001))
        await asyncio.sleep(0)
        pace.halt()
        done, _ = await asyncio.wait({waits}, timeout=0.01)
        assert not done
        pace.step()
        await waits

    asyncio.run(story())
