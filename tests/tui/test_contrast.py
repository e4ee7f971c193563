"""The screen can be read, and its frames and scroll bars be seen, in each theme with colours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import dim_style
from textual.widget import Widget

from sdschat.node.settings import make_settings
from sdschat.node.tools.local_group import LocalGroup
from sdschat.tui.theatre.app import TheatreApp
from sdschat.tui.theatre.group import TheatreGroup
from sdschat.tui.themes import READABLE, contrast
from tests.tui.stage import Stage, staged

SEEN = 3.0  # the least contrast of a frame
_DRAWN = range(0x2500, 0x25A0)  # lines and blocks


def faint(app: App[int], part: Widget) -> Iterator[str]:
    """Yield what is drawn in a part of the screen with less contrast than it needs."""
    for strip in app.screen._compositor.render_strips()[part.region.y : part.region.bottom]:
        for text, style, _ in strip.crop(part.region.x, part.region.right):
            found = _contrast(Segment(text, style)) if text.strip() else None
            least = SEEN if all(letter == " " or ord(letter) in _DRAWN for letter in text) else READABLE
            if found is not None and found < least:
                yield f"{text.strip()!r}: {found:.1f}"


def _contrast(segment: Segment) -> float | None:
    style = segment.style
    if style is None or style.color is None or style.bgcolor is None:
        return None
    if style.dim:
        style = dim_style(style, Color.from_rich_color(style.bgcolor))
    assert style.color is not None
    assert style.bgcolor is not None
    return contrast(style.color.get_truecolor(), style.bgcolor.get_truecolor())


@pytest.mark.parametrize("theme", ["dark", "light", "contrast"])
@pytest.mark.parametrize(
    "keys",
    [("f1",), ("f1", "tab", "tab"), ("f2",), ("f3",), ("ctrl+f",), ("ctrl+p",), ("alt+up",)],
    ids=lambda keys: "-".join(keys),
)
def test_all_that_is_drawn_can_be_seen(tmp_path: Path, theme: str, keys: tuple[str, ...]) -> None:
    @staged("lobby", "dev", size=(110, 24), theme=theme)
    async def story(s: Stage) -> None:
        for number in range(30):
            s.app.send(f"line {number}")
        await s.until_text("line 29")
        await s.press(*keys)
        await s.settle()
        screen = s.app.screen
        parts = [*screen.query("#--input, CommandList")] or [screen]  # what is behind the palette is faint on purpose
        assert [each for part in parts for each in faint(s.app, part)] == []

    story(tmp_path)


@staged("lobby", "dev", size=(110, 24))
async def test_two_channels_side_by_side_can_be_seen_after_each_change_of_the_theme(s: Stage) -> None:
    for theme in ("dark", "light", "contrast"):
        await s.enter(f"/theme {theme}")
        await s.enter("/split dev")
        await s.settle()
        assert [*faint(s.app, s.app.screen)] == []


@pytest.mark.parametrize("theme", ["dark", "light", "contrast"])
def test_the_theatre_can_be_read(tmp_path: Path, theme: str) -> None:
    asyncio.run(_look_at_theatre(tmp_path, theme))


async def _look_at_theatre(folder: Path, theme: str) -> None:
    watched = TheatreGroup(LocalGroup(folder, make_settings({}, "demo"), "demo"))
    await watched.open()
    try:
        app = TheatreApp(watched, 0.3, theme=theme)
        async with app.run_test(size=(94, 24)) as pilot:
            await pilot.pause()
            assert [*faint(app, app.screen)] == []
    finally:
        await watched.close()
