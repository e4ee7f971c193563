"""The line about what happened while another window had the keys."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from textual.events import AppBlur, AppFocus

from sdschat.node.events import NodeEvent, ev
from tests.tui.stage import Stage, stage, staged


async def _away(s: Stage, milliseconds: int) -> None:
    s.app.post_message(AppBlur())
    await s.until(lambda: s.app.away is not None, "the absence")
    assert s.app.away is not None
    s.app.away._since -= milliseconds


async def _back(s: Stage) -> None:
    s.app.post_message(AppFocus())
    await s.until(lambda: s.app.away is None, "the return")


@staged(peers=("bob",), size=(140, 24))
async def test_who_comes_back_is_told_what_happened(s: Stage) -> None:
    await s.until_text("2 here")
    await _away(s, 120_000)
    s.say("the ferry is late")
    s.say("ann: where is the rope?")
    await s.until(lambda: s.app.model.unread == 2)
    s.app._hear(NodeEvent("lobby", s.app.view.now().wall, ev.GapClosed("a" * 64)))
    await _back(s)
    assert s.hint().endswith("2 messages by bob, 1 to you, 1 gap healed | Alt+U first unread")  # one channel alone


@staged(peers=("bob",))
async def test_a_short_absence_and_a_quiet_one_are_not_spoken_of(s: Stage) -> None:
    await s.until_text("2 here")
    await _away(s, 0)
    s.say("the ferry is late")
    await s.until_text("ferry")
    await _back(s)
    assert "away" not in s.hint()
    await _away(s, 120_000)
    await _back(s)
    assert "away" not in s.hint()


@staged(peers=("bob",), size=(80, 24))
async def test_what_came_while_away_is_read_once_one_is_back_and_sees_it(s: Stage) -> None:
    """It stayed unread, also after an answer to it, and stood below *new* at the next start."""
    await s.until_text("2 here")
    await _away(s, 120_000)
    s.say("the ferry is late")
    await s.until(lambda: s.app.model.unread == 1)
    await _back(s)
    assert s.hint().endswith("1 message by bob | Alt+U first unread")
    assert s.app.model.unread == 0
    assert "─ new ─" in s.text(), "it stays, so that one finds the place"
    s.app._keep()
    assert s.app.model.conversation.read_mark() == s.app.model.timeline.last_key()


@staged(peers=("bob",), size=(80, 24))
async def test_a_key_ends_an_absence_that_the_terminal_does_not_end(s: Stage) -> None:
    """News of the meantime stayed unread for good, also after an answer, and so did all that came later on disk."""
    await s.until_text("2 here")
    await _away(s, 120_000)
    s.say("the ferry is late")
    await s.until(lambda: s.app.model.unread == 1)
    await s.enter("so I wait")
    await s.press("a")
    assert s.app.away is None
    assert s.app.model.unread == 0
    s.say("so do I")
    await s.until_text("so do I")
    s.app._keep()
    assert s.app.model.conversation.unread() == 0


@pytest.mark.parametrize(("minutes", "told"), [(38, 1), (0.2, 0)])
def test_a_machine_that_slept_leaves_a_line_in_each_log(tmp_path: Path, minutes: float, told: int) -> None:
    """Only the times of the messages told of it."""

    async def story() -> None:
        async with stage(tmp_path, "ann", "lobby", "dev", size=(140, 24)) as s:
            assert s.app.workspace._awake is not None
            s.app.workspace._awake -= int(minutes * 60_000)
            s.app.workspace.note_sleep()
            s.app.workspace.note_sleep()
            await s.settle()
            for channel in ("lobby", "dev"):
                await s.enter(f"/join {channel}")
                found = [line for line in s.log() if re.search(r"asleep from [\w :]+ to [\d:]+ \(38m\)", line)]
                assert len(found) == told, s.text()

    asyncio.run(story())


@staged("lobby", "dev", peers=("bob",), size=(140, 24))
async def test_the_key_of_the_next_channel_is_named_where_several_have_news(s: Stage) -> None:
    await s.until_text("2 here")
    await _away(s, 120_000)
    for channel in ("lobby", "dev"):
        s.say("the ferry is late", channel=channel)
        await s.until(lambda channel=channel: s.app.workspace.models[channel].unread == 1)  # type: ignore[misc]
    await _back(s)
    assert s.hint().endswith("2 messages by bob | Alt+U first unread, Alt+A next channel")
