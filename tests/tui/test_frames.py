"""The frame of the input names the other channels, and the keys of what has the focus."""

from __future__ import annotations

from sdschat.tui.lens.panel import LensBody
from sdschat.tui.themes import READABLE, contrast
from tests.tui.stage import Stage, staged


@staged("lobby", "dev", peers=("bob",), size=(80, 24))
async def test_the_other_channels_stand_on_the_line_above_the_input(s: Stage) -> None:
    await s.until(lambda: any("message lobby" in line and "2 dev" in line for line in s.lines()), "the other channel")
    s.say("ann: look", channel="dev")
    await s.until_text("2 dev 1!")
    (line,) = (line for line in s.lines() if "message lobby" in line)
    assert "2 dev 1! ─" in line
    assert len(line) == 80
    assert "dev" not in s.lines()[0]


@staged(size=(80, 24))
async def test_with_one_channel_the_line_above_the_input_names_the_keys(s: Stage) -> None:
    (line,) = (line for line in s.lines() if "message lobby" in line)
    assert "─ Enter send ⋅ Alt+Enter new line" in line
    assert len(line) == 80


@staged(size=(120, 30))
async def test_the_keys_of_what_has_the_focus_are_named(s: Stage) -> None:
    assert "Enter send" in s.text()
    s.app.log_view.focus()
    await s.until_text("i details")
    await s.press("f2")
    await s.until(lambda: bool(s.app.query(LensBody)), "the Lens")
    s.app.query_one(LensBody).focus()
    await s.until_text("Left Right views")
    assert "i details" not in s.text()


@staged("lobby", "dev", size=(120, 30))
async def test_the_words_on_frames_can_be_read(s: Stage) -> None:
    await s.press("f2")
    await s.until(lambda: bool(s.app.query(LensBody)), "the Lens")
    wanted = {"channels", "1 here", "Lens", "message lobby", "Esc closes the Lens"}
    for theme in ("dark", "light", "contrast"):
        await s.enter(f"/theme {theme}")
        await s.settle()
        assert s.app.theme == f"chat-{theme}"
        drawn = [segment for strip in s.app.screen._compositor.render_strips() for segment in strip]
        for words in wanted:
            (style, *_) = (each.style for each in drawn if words in each.text)
            assert style is not None
            assert style.color is not None
            assert style.bgcolor is not None
            found = contrast(style.color.get_truecolor(), style.bgcolor.get_truecolor())
            assert found >= READABLE, f"{words} in {theme}: {found:.1f}"


@staged(peers=("bob",), size=(80, 24))
async def test_the_list_of_members_is_whole_as_soon_as_there_is_room_for_it(s: Stage) -> None:
    await s.until(lambda: len(s.app.conversation.people()) == 2, "bob")
    await s.pilot.resize_terminal(120, 30)
    await s.pilot.pause()
    assert s.app.panes.member_list.size.height
    assert "more: /who" not in str(s.app.panes.member_list.render())


@staged(peers=("bob",), size=(50, 15))
async def test_the_state_of_a_channel_is_cut_between_its_parts(s: Stage) -> None:
    await s.enter("/create a-long-name")
    await s.until_text("is private")
    assert s.lines()[0].rstrip().endswith("nothing missing")
