"""Messages that were never on the screen: they stay unread, and how one gets to them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.node.channel import waiting_packets
from tests.tui.stage import Stage, stage, staged


@pytest.fixture(autouse=True)
def _in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what comes at once in one step, so that no frame between two steps shows a part of it."""
    monkeypatch.setattr(waiting_packets, "AT_ONCE", 1000)


async def _missed(s: Stage) -> None:
    """120 messages that were said while ann was away, one of them to her."""
    for number in range(120):
        s.say(f"{'ann: ' if number == 77 else ''}number {number:03}", "carol")
    await s.until(lambda: s.app.model.conversation.count() >= 122)
    await s.settle()


async def _first_run(folder: Path) -> None:
    async with stage(folder, peers=("bob",)) as s:
        s.say("before")
        await s.until_text("before")
        await s.enter("good night")


def _in_sight(s: Stage, text: str) -> bool:
    return any(text in line for line in s.log())


def test_what_was_never_on_the_screen_is_unread_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        await _first_run(tmp_path)
        async with stage(tmp_path, peers=("carol",)) as s:
            await _missed(s)
            await s.until_text("new, 1 to you: Alt+U")
        async with stage(tmp_path) as s:
            await s.until_text("new, 1 to you: Alt+U")
            await s.press("alt+u")
            assert _in_sight(s, "number 000")
            assert not _in_sight(s, "number 077")
            await s.until_text("new, 1 to you: Alt+U")
        async with stage(tmp_path) as s:
            await s.until_text("new, 1 to you: Alt+U")
            await s.press("alt+u")
            assert not _in_sight(s, "number 000"), "it was read"
            await s.press("alt+u")
            assert _in_sight(s, "number 077")
            assert "to you: Alt+U" not in s.text()
            assert "not seen yet" not in s.text(), "the line of the press before"
            assert "new: Alt+U" in s.text()

    asyncio.run(story())


@pytest.mark.parametrize("how", ["alt+end", "/end", "here I am"])
def test_who_goes_to_the_end_or_writes_has_read(tmp_path: Path, how: str) -> None:
    async def story() -> None:
        await _first_run(tmp_path)
        async with stage(tmp_path, peers=("carol",)) as s:
            await _missed(s)
            await (s.press(how) if "+" in how else s.enter(how))
            assert "Alt+U" not in s.text()
        async with stage(tmp_path) as s:
            assert s.app.model.unread == 0

    asyncio.run(story())


def test_who_reads_every_page_has_read(tmp_path: Path) -> None:
    async def story() -> None:
        await _first_run(tmp_path)
        async with stage(tmp_path, peers=("carol",)) as s:
            await _missed(s)
            await s.press("alt+u")
            for _ in range(10):
                await s.press("pagedown")
            assert s.app.model.unread == 0
        async with stage(tmp_path) as s:
            assert s.app.model.unread == 0

    asyncio.run(story())


@staged(peers=("bob",))
async def test_esc_takes_a_lone_slash_away_and_no_draft(s: Stage) -> None:
    """`/edit` was typed behind it, and sent as a text."""
    await s.type("/")
    await s.press("escape")
    assert s.app.composer.text == ""
    await s.type("a draft / of it")
    await s.press("escape")
    assert s.app.composer.text == "a draft / of it"
