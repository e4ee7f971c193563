"""The frame of the input names the other channels, and the keys of what has the focus."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from textual.geometry import Region

from sdschat.tui.lens.panel import LensBody
from sdschat.tui.themes import READABLE, contrast
from tests.tui.stage import Stage, stage, staged


@staged("lobby", "dev", peers=("bob",), size=(80, 24))
async def test_the_other_channels_stand_on_the_line_above_the_input(s: Stage) -> None:
    await s.until(lambda: any("message lobby" in line and "2 dev" in line for line in s.lines()), "the other channel")
    s.say("ann: look", channel="dev")
    await s.until_text("2 dev 1!")
    (line,) = (line for line in s.lines() if "message lobby" in line)
    assert "2 dev 1! ─" in line
    assert len(line) == 80
    assert "dev" not in s.lines()[0]


@staged("lobby", "dev", "x", size=(80, 24))
async def test_a_click_on_a_channel_above_the_input_shows_it(s: Stage) -> None:
    (at,) = (line.index("2 dev") for line in s.lines() if "message lobby" in line)
    await s.pilot.click("#entry", offset=(at + 2, 0))
    await s.until_text("message dev")
    assert s.app.workspace.shown == "dev"
    (at,) = (line.index("3 x") for line in s.lines() if "message dev" in line)
    await s.pilot.click("#entry", offset=(at + 2, 0))
    await s.until_text("message x")


@staged("lobby", "dev", size=(60, 11))
async def test_a_click_on_a_channel_in_the_head_shows_it(s: Stage) -> None:
    await s.pilot.click("#head", offset=(s.lines()[0].index("2 dev"), 0))
    await s.until(lambda: s.app.workspace.shown == "dev", "dev")
    await s.pilot.click("#head", offset=(s.lines()[0].index("1 lobby"), 0))
    await s.until(lambda: s.app.workspace.shown == "lobby", "lobby")


@staged(size=(120, 30))
async def test_the_input_names_no_keys_while_a_sheet_or_the_search_takes_them(s: Stage) -> None:
    for opens in ("f1", "ctrl+f"):
        assert "Enter send ⋅" in s.text()
        await s.press(opens)
        await s.until(lambda: "Enter send ⋅" not in s.text(), opens)
        await s.press("escape")
        await s.until_text("Enter send ⋅")


@staged(peers=("bob",), size=(60, 15))
async def test_a_search_in_60_columns_names_the_keys_that_it_needs(s: Stage) -> None:
    s.say("the long rope")
    await s.until_text("rope")
    await s.press("ctrl+f")
    await s.type_at_once("rope")
    await s.until(lambda: "1 of 1 bob, " in s.text() and "Esc ends" in s.text(), "author and keys")


@staged(size=(200, 50))
async def test_a_sheet_lies_over_the_log_whatever_the_size(s: Stage) -> None:
    await s.press("f1")
    region, log = s.app.sheet.region, s.app.logs.region
    assert (region.x, region.width) == (log.x, 156)
    await s.pilot.resize_terminal(120, 40)
    await s.until(lambda: s.app.sheet.region.width == s.app.logs.region.width < 120, "all of the width of the log")


@staged(size=(80, 24))
async def test_with_one_channel_the_line_above_the_input_names_the_keys(s: Stage) -> None:
    (line,) = (line for line in s.lines() if "message lobby" in line)
    assert "─ Enter send ⋅ Alt+Enter new line" in line
    assert len(line) == 80


@staged(size=(60, 15))
async def test_keys_are_named_on_small_screens_too(s: Stage) -> None:
    (line,) = (line for line in s.lines() if "message lobby" in line)
    assert "─ Enter send ⋅ Alt+Enter new line" in line
    await s.enter("a message whose keys are named")
    await s.press("alt+up", "f6")
    await s.until_text("i details")
    await s.pilot.resize_terminal(50, 12)
    await s.until_text("r answer")


@staged(size=(120, 30))
async def test_what_can_be_done_with_a_selected_message_is_named_beside_the_input(s: Stage) -> None:
    """Behind Alt+Up a typed r went into the input, and nothing said how to answer."""
    await s.enter("a message that is selected")
    await s.press("alt+up")
    await s.until_text("F6 answer it, copy it")
    await s.press("f6", "r")
    await s.until_text("Enter answer")
    await s.press("escape", "escape")
    await s.until_text("Alt+Enter new line")


@pytest.mark.parametrize(
    ("text", "guest", "named"),
    [
        ("see https://example.org", False, True),
        ("see the page", False, False),
        ("see https://example.org", True, False),
    ],
)
def test_the_key_that_opens_a_link_is_named_where_there_is_one_that_one_may_open(
    tmp_path: Path, text: str, guest: bool, named: bool
) -> None:
    async def story() -> None:
        async with stage(tmp_path, size=(120, 30), guest=guest) as s:
            await s.enter(text)
            await s.press("alt+up", "f6")
            await s.until_text("t thread")
            assert ("o open link" in s.text()) == named

    asyncio.run(story())


@staged("lobby", "first-project", "second-project", "dev", peers=("bob",), size=(40, 10))
async def test_where_there_is_no_line_above_the_input_the_head_names_the_channel_that_is_shown(s: Stage) -> None:
    await s.until(lambda: "2 here" in s.lines()[0] or "nothing missing" in s.lines()[0], "the state")
    assert s.lines()[0].startswith(" 1 lobby  2  3  4  ▪ nothing missing")
    s.say("ann: look", channel="dev")
    await s.until(lambda: s.lines()[0].startswith(" 1 lobby  2  3  4 1!  ▪ nothing missing"), "dev")
    await s.pilot.resize_terminal(36, 10)
    await s.until(lambda: s.lines()[0].startswith(" 1 lobby  2  4 1!  ▪ nothing missing"), "less room")
    await s.press("alt+3")
    await s.until(lambda: "3 second-project" in s.lines()[0], "the channel that is shown")


@staged(size=(120, 30))
async def test_the_keys_of_what_has_the_focus_are_named(s: Stage) -> None:
    assert "Enter send" in s.text()
    await s.enter("a message whose keys are named")
    await s.press("alt+up", "f6")
    await s.until_text("i details")
    await s.press("f2")
    await s.until(lambda: bool(s.app.query(LensBody)), "the Lens")
    s.app.query_one(LensBody).focus()
    await s.until_text("Left Right views")
    assert "i details" not in s.text()


@staged("a-channel-whose-name-is-long-" + "x" * 30, size=(120, 30))
async def test_a_long_name_takes_no_key_off_the_frame(s: Stage) -> None:
    """The keys stand on the lower line of the frame, the name on the upper one."""
    await s.until_text("Enter send ⋅ Alt+Enter new line ⋅ Tab complete ⋅ / commands ─╯")


@staged("lobby", "dev", size=(120, 30))
async def test_the_words_on_frames_can_be_read(s: Stage) -> None:
    await s.press("f2")
    await s.until(lambda: bool(s.app.query(LensBody)), "the Lens")
    wanted = {"channels", "1 here", "Lens", " repair ", "message lobby", "closes the Lens"}
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


@staged(size=(120, 30))
async def test_the_list_of_members_uses_every_line_and_no_more(s: Stage) -> None:
    """A line stayed free below the number of those without room; where it was the last one wanted, all had room."""
    panes, now = s.app.panes, s.app.view.now().wall
    (own,) = s.app.conversation.people()
    for height in (30, 14):  # with a frame, and without
        await s.pilot.resize_terminal(120, height)
        await s.pilot.pause()
        rows = panes.member_list.size.height
        title = int(panes.member_list.border_title is None)
        for number, away in itertools.product(range(rows - 3, rows + 3), range(4)):
            people = [own._replace(sender_id=f"{at:032x}", online=at < number - away) for at in range(number)]
            panes.member_list.set_people(people, s.app.line_style, now, True)
            drawn = panes.member_list._drawn.plain.rstrip("\n").split("\n")
            wanted = title + number + bool(away)
            alone = wanted > rows and title + number - away == rows - 2  # else the heading would stand above nobody
            assert len(drawn) == min(rows, wanted) - alone, (height, number, away)
            assert ("more: /who" in drawn[-1]) is (wanted > rows)


@staged(peers=("bob",), size=(46, 15))
async def test_the_state_of_a_channel_is_cut_between_its_parts(s: Stage) -> None:
    await s.enter("/create a-long-name")
    await s.until_text("is private")
    assert s.lines()[0].rstrip().endswith("nothing missing")


@staged(peers=("bob",), size=(80, 24), syncs=True, theme="light")
async def test_keys_stand_out_beside_the_title_of_a_direct_conversation(s: Stage) -> None:
    await s.until_text("2 here")
    await s.enter("/msg bob hello")
    await s.until_text("to @bob alone")
    await s.press("f2")
    await s.until_text("closes the Lens")
    drawn = [segment for strip in s.app.screen._compositor.render_strips() for segment in strip]
    title, word = (next(each.style for each in drawn if text in each.text) for text in ("@bob alone", "closes the"))
    assert title is not None
    assert word is not None
    assert title.color != word.color


@pytest.mark.parametrize("theme", ["light", "plain"])
def test_keys_stand_out_from_what_they_do(tmp_path: Path, theme: str) -> None:
    @staged(size=(120, 30), theme=theme)
    async def story(s: Stage) -> None:
        await s.press("f1")
        strips = s.app.screen._compositor.render_strips()
        drawn = [segment for strip in strips for segment in strip if segment.text.strip()]
        for key, does in (("F1", "help"), ("Tab", "next page"), ("Esc", "closes")):
            places = (at for at, each in enumerate(drawn) if each.text.strip() == key)
            at = next(at for at in places if drawn[at + 1].text.strip().startswith(does))
            mark, word = (each.style for each in drawn[at : at + 2])
            assert mark is not None
            assert word is not None
            assert (mark.bold and not word.bold) if theme == "plain" else mark.color != word.color

    story(tmp_path)


def _frame(s: Stage) -> object:
    """Return the colour of the frame, or of the line, above the input."""
    return _colour(s, s.app.entry.region)


def _colour(s: Stage, region: Region) -> object:
    """Return the colour of the upper edge of a frame."""
    strip = s.app.screen._compositor.render_strips()[region.y].crop(region.x, region.right)
    styles = [each.style for each in strip if set(each.text) in ({"─"}, {"-"})]
    found = {style.color for style in styles if style is not None}
    assert len(found) == 1, "one colour from end to end"
    return found.pop()


@pytest.mark.parametrize("size", [(120, 30), (80, 24)])
def test_the_frame_of_the_input_is_lit_while_it_takes_what_is_typed(tmp_path: Path, size: tuple[int, int]) -> None:
    @staged("lobby", peers=("bob",), size=size, syncs=True)
    async def story(s: Stage) -> None:
        await s.enter("a message to choose")
        lit = _frame(s)
        await s.press("f1")
        assert _frame(s) != lit
        await s.press("escape")
        assert _frame(s) == lit
        await s.until_text("2 here")
        await s.enter("/msg bob hello")
        await s.until_text("to @bob alone")
        assert _frame(s) != lit

    story(tmp_path)


@staged("lobby", size=(120, 30), theme="dark", ascii_only=True)
async def test_frames_of_ascii_are_lit_as_well(s: Stage) -> None:
    lit = _frame(s)
    await s.press("f1")
    assert _frame(s) != lit
    assert _colour(s, s.app.sheet.region) == lit
    await s.press("escape", "f2")
    await s.until(lambda: bool(s.app.query(LensBody)), "the Lens")
    panel = s.app.query_one("#lens")
    assert _colour(s, panel.region) != lit
    s.app.query_one(LensBody).focus()
    await s.settle()
    assert _colour(s, panel.region) == lit


@staged("lobby", "dev", size=(120, 30))
async def test_a_column_is_free_between_the_log_and_both_lists(s: Stage) -> None:
    """The line of the day ran into the corner of the list of channels, and the bar of a message to one touched it."""
    day, *rows = s.lines()[1:10]
    assert "╮ ─" in day
    assert "─ ╭" in day
    assert all(row[22] == " " for row in rows)
