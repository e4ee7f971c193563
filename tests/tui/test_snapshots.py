"""The screen at three sizes in three themes. Behaviour is tested elsewhere; nothing is tested here alone."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from sdschat.identity.keyfile import load_or_create
from sdschat.node.profile import database_path
from sdschat.node.view.values import Participant
from sdschat.tui import panes
from sdschat.tui.widgets import lists
from tests.tui.snapshots import compare
from tests.tui.stage import Stage, stage


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the times since participants were heard: they depend on the speed of the machine."""

    def heard(person: Participant, now: int, *, beside: bool) -> str:
        return "you" if person.own else "1s ago"

    monkeypatch.setattr(lists, "heard_words", heard)
    monkeypatch.setattr(panes, "last_heard_words", lambda people, now: "heard bob 1s ago")


def _seed(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


async def _talk(s: Stage) -> None:
    """Fill the log with every kind of row: a long text with a link, a mention, an answer, an action, notes."""
    s.app.composer.cursor_blink = False
    await s.until_text("2 here")
    s.say("good morning, have a look at https://spec.example.org/sds.md#repair when you find the time to read it")
    await s.until_text("good morning")
    await s.enter("I will")
    asked = s.say("ann: and the build?")
    await s.until_text("and the build?")
    await s.enter(f"/reply {asked[:10]} green")
    s.say("is happy", kind=1)
    await s.until_text("is happy")
    s.say("not in sight", channel="dev")
    s.say("ann, over here", channel="dev")
    await s.until(lambda: s.app.models["dev"].unread == 2)
    await s.enter("/alias hi say hello")
    s.app.panes.hint("")
    await s.until(lambda: s.text().count("✓") == 2, "all of it acknowledged")
    s.app.show_notice("a line of the program")
    await s.press("alt+up")
    await s.until(lambda: "met before" in s.app.panes.said("details"), "the details")
    s.app.panes.draw_badges()
    s.app.panes.draw_people()
    await s.settle()


@pytest.mark.parametrize("theme", ["dark", "light", "contrast"])
@pytest.mark.parametrize("size", [(120, 30), (80, 24), (50, 15)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_chat_looks_as_it_did(tmp_path: Path, size: tuple[int, int], theme: str) -> None:
    async def story() -> None:
        for name in ("ann", "bob"):
            folder = database_path(tmp_path, name).parent
            folder.mkdir(mode=0o700, parents=True)
            load_or_create(folder, lambda count, name=name: _seed(name)[:count])  # type: ignore[misc]
        async with stage(tmp_path, "ann", "lobby", "dev", peers=("bob",), size=size, theme=theme) as s:
            await _talk(s)
            strips = [list(strip) for strip in s.app.screen._compositor.render_strips()]
            compare(f"chat-{size[0]}x{size[1]}-{theme}", strips)

    asyncio.run(story())
