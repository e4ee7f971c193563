"""The panel and every command of the Lens, driven by keys and typed lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.node.tools.fault_injection import Injection
from sdschat.tui.lens.commands import COMMANDS
from sdschat.tui.lens.inspector import VIEWS
from sdschat.tui.lens.panel import LensBody, LensPanel, seen_names
from sdschat.tui.lens.view_input import VIEW_NAMES
from tests.tui.stage import Stage, stage

Story = Callable[[Stage], Awaitable[None]]


def play(folder: Path, story: Story, *peers: str, size: tuple[int, int] = (120, 30)) -> None:
    async def run() -> None:
        async with stage(folder, "ann", peers=peers, size=size) as s:
            await story(s)

    asyncio.run(run())


def panel_of(s: Stage) -> LensPanel:
    """Return the panel, which was opened before."""
    assert s.app.lens.panel is not None
    return s.app.lens.panel


def shown(s: Stage) -> str:
    return panel_of(s).shown


def shows(s: Stage, view: str) -> bool:
    return s.app.lens.is_open and shown(s) == view


def warns_of(s: Stage, faults: str) -> bool:
    return "FAULTS ON" in s.text() and faults in " ".join(s.text().split())


COMMAND_VIEWS = (
    ("/why", "why", "message"),
    ("/repair", "repair", "what we miss"),
    ("/packet", "packet", "packet of message"),
    ("/graph", "graph", "who wrote knowing"),
    ("/dag", "graph", "who wrote knowing"),
    ("/matrix", "matrix", "A row for each of the last messages"),
    ("/filter", "filter", "our filter"),
    ("/bloom", "filter", "our filter"),
    ("/peers", "peers", "participants"),
    ("/events", "events", "event"),
    ("/fault", "faults", "faults injected"),
    ("/faults", "faults", "faults injected"),
    *((f"/lens {view}", view, "") for view in VIEWS),
)


def test_every_view_is_a_command(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("hello")
        await s.until_text("hello")
        await s.press("alt+up")
        for command, view, text in COMMAND_VIEWS:
            await s.enter(command)
            await s.until(partial(shows, s, view), command)
            await s.until_text(text)

    play(tmp_path, story)


def test_f2_opens_and_closes_and_the_chat_goes_on(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        assert not s.app.lens.is_open
        await s.press("f2")
        await s.until_text("what we miss")
        await s.enter("still talking")
        await s.until_text("still talking")
        await s.press("f2")
        assert not s.app.lens.is_open
        assert "what we miss" not in s.text()
        await s.press("f2")
        await s.until_text("what we miss")

    play(tmp_path, story)


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40)])
def test_the_panel_takes_the_lower_half_of_a_terminal_without_room_beside_the_log(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def story(s: Stage) -> None:
        await s.enter("hello")
        await s.until_text("hello")
        await s.press("f2")
        await s.until_text("Nothing is missing here")
        assert "hello" in s.text()
        panel = panel_of(s)
        assert panel.region.width == size[0]
        half = s.app.query_one("#body").size.height / 2
        assert panel.region.height == 9 if half < 9 else abs(panel.region.height - half) <= 0.5

    play(tmp_path, story, size=size)


def test_who_has_what_is_seen_without_scrolling_in_a_small_terminal(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("hello")
        await s.until_text("hello")
        await s.until(lambda: any(person.nick == "bob" for person in s.app.view.channel("lobby").people()))
        await s.enter("/matrix")
        await s.until(lambda: any(line.split()[1:2] == ["you"] and "hello" in line for line in s.lines()))

    play(tmp_path, story, "bob", size=(80, 24))


def test_in_a_low_terminal_the_panel_has_all_of_the_room(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.press("f2")
        await s.until_text("what we miss")
        await s.press("f2")
        await s.enter("hello")
        await s.until_text("hello")

    play(tmp_path, story, size=(60, 13))


def test_what_a_command_says_is_not_behind_the_panel(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.press("f2")
        await s.until_text("what we miss")
        await s.press("f1")
        await s.until_text("Tab next page")
        assert "what we miss" not in s.text()

    play(tmp_path, story, size=(80, 24))


def test_everything_follows_the_size_of_the_terminal(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.until_text("1 here")
        await s.press("f2")
        assert panel_of(s).has_class("-below")
        await s.pilot.resize_terminal(60, 12)
        await s.until(lambda: bool(panel_of(s).has_class("-full")))
        await s.press("f2")
        await s.until(lambda: s.app.log_view.size.width >= 58)
        await s.pilot.resize_terminal(140, 30)
        await s.press("f2")
        await s.until(lambda: not panel_of(s).has_class("-full") and not panel_of(s).has_class("-below"))
        assert panel_of(s).region.height == s.app.log_view.region.height

    play(tmp_path, story)


def test_a_message_that_is_looked_for_is_seen_though_the_panel_covered_the_log(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("the long rope")
        for number in range(30):
            await s.enter(f"number {number}")
        await s.pilot.resize_terminal(60, 12)
        for wanted in ("/search rope", "/goto 2h", "/start"):
            await s.press("f2")
            await s.until(lambda: s.app.lens.is_open and not s.app.logs.display)
            await s.enter(wanted)
            await s.until_text("the long rope")
            assert not s.app.lens.is_open
            await s.press("escape", "escape", "alt+end")

    play(tmp_path, story)


def test_the_panel_follows_the_selection(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("first")
        await s.until_text("first")
        await s.enter("second")
        await s.until_text("second")
        await s.enter("/lens why")
        await s.press("alt+up")
        await s.until(lambda: any("  second" in line for line in s.lines() if "│" in line))
        newest = s.app.selection
        await s.press("alt+up")
        await s.until(lambda: s.app.selection != newest)
        await s.until(lambda: panel_of(s).selection == s.app.selection)

    play(tmp_path, story, size=(160, 30))


def test_why_takes_the_beginning_of_an_id_and_says_who_acknowledged(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("hello bob")
        await s.until(lambda: len(s.peers["bob"].texts()) == 1)
        s.peers["bob"].node.send("lobby", "hello ann")
        await s.until_text("✓")
        message_id = next(entry.message_id for entry in s.app.model.timeline.messages() if entry.own)
        await s.enter(f"/why {message_id[:6]}")
        await s.until_text("acked: bob")

    play(tmp_path, story, "bob")


COMPLAINTS = (
    ("/lens nonsense", "There is no view 'nonsense'"),
    ("/why zzzz", "No message of this channel"),
    ("/fault everything", "does not know 'everything'"),
    ("/fault loss", "does not know 'loss'"),
    ("/fault loss much", "no share"),
    ("/fault loss 120%", "120% is more than all there is: write from 0% to 100%"),
    ("/fault loss 10% sideways", "no direction"),
    ("/fault delay soon", "must be a duration"),
    ("/fault skew 48h", "by a day at most"),
    ("/fault partition nobody", "Nobody here is called 'nobody'"),
    ("/why", "No message is selected"),
)


def test_what_cannot_be_done_is_said_and_what_was_typed_stays(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        for line, complaint in COMPLAINTS:
            s.app.composer.put("")
            await s.enter(line)
            await s.until_text(complaint)
            assert s.app.composer.text == line

    play(tmp_path, story)


def test_who_writes_after_their_clock_was_ahead_reads_that_others_see_it_later(tmp_path: Path) -> None:
    """Others let it wait, and the author read of no reason, for as long as the clock had been ahead."""

    async def story(s: Stage) -> None:
        await s.enter("/fault skew +20m")
        await s.enter("of twenty minutes from now")
        await s.enter("/fault off")
        await s.enter("of now")
        await s.enter("once more")
        await s.until(lambda: "what you write is dated 20m ahead of this machine's clock" in s.text())
        assert s.text().count("what you write is dated") == 1

    play(tmp_path, story)


def test_faults_are_injected_shown_in_a_banner_and_ended(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        for line, banner in (
            ("/fault loss 30% in", "loss 30% in"),
            ("/fault duplicate 10%", "duplicates 10%"),
            ("/fault reorder 0.2 out", "reorder 20% out"),
            ("/fault corrupt 5% out", "corrupt 5% out"),
            ("/fault delay 50ms", "delay 50 ms"),
            ("/fault partition bob", "without bob"),
            ("/fault skew +90s", "clock +90 s"),
        ):
            await s.enter(line)
            await s.until(partial(warns_of, s, banner), line)
        await s.enter("/fault rejoin bob")
        await s.until(lambda: "without bob" not in s.text())
        await s.enter("/fault off")
        await s.until(lambda: "FAULTS ON" not in s.text())
        assert Injection(s.app.node, "lobby").describe() == ""

    async def with_bob(s: Stage) -> None:
        await s.until(lambda: any(person.nick == "bob" for person in s.app.view.channel("lobby").people()))
        await story(s)

    play(tmp_path, with_bob, "bob")


def test_offline_by_fault_is_as_unmissable_as_any_and_ends(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("/fault offline")
        await s.until_text("OFFLINE")
        await s.enter("kept meanwhile")
        await s.until_text("queued")
        await s.enter("/fault online")
        await s.until(lambda: "OFFLINE" not in s.text())
        await s.until(lambda: s.peers["bob"].texts() == ["kept meanwhile"])

    play(tmp_path, story, "bob")


def test_a_message_that_a_command_named_is_shown_until_the_view_is_asked_for_anew(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("hello")
        await s.until_text("hello")
        named = next(iter(s.app.model.timeline.messages())).message_id
        ends: tuple[Callable[[], Awaitable[None]], ...] = (
            lambda: s.enter("/packet"),
            lambda: s.press("escape"),
            lambda: s.enter("/end"),
            lambda: s.enter("another one"),
        )
        for end in ends:
            await s.enter(f"/packet {named[:8]}")
            await s.until(lambda: panel_of(s).selection == named)
            await end()
            await s.until(lambda: panel_of(s).selection is None)
        await s.enter("/packet")
        await s.until_text("packets lately")

    play(tmp_path, story)


def test_the_views_are_turned_with_the_keys(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.press("f2")
        panel_of(s)._body.focus()
        names = list(VIEWS)
        start = names.index(shown(s))
        await s.press("right")
        assert shown(s) == names[(start + 1) % len(names)]
        await s.press("left", "left")
        assert shown(s) == names[(start - 1) % len(names)]
        await s.press("l")
        assert shown(s) == names[start]
        await s.press("h")
        assert shown(s) == names[(start - 1) % len(names)]

    play(tmp_path, story)


def test_the_views_are_turned_from_the_input_while_the_lens_is_open(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.type("ab")
        await s.press("alt+left")
        assert not s.app.lens.is_open
        await s.press("f2")
        names, start = list(VIEWS), list(VIEWS).index(shown(s))
        await s.press("alt+right", "alt+right")
        assert shown(s) == names[(start + 2) % len(names)]
        await s.press("alt+left")
        assert shown(s) == names[(start + 1) % len(names)]
        assert s.app.composer.text == "ab"
        assert s.app.composer.has_focus

    play(tmp_path, story)


def tabs_of(s: Stage) -> tuple[int, str]:
    """Return the row of the screen with the names of the views, and that row."""
    return next((y, line) for y, line in enumerate(s.lines()) if " repair " in line and "packet" in line)


def test_a_click_on_a_name_shows_the_view(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.press("f2")
        y, row = tabs_of(s)
        assert row.startswith("╭─ Lens "), "they stand on the frame"
        await s.pilot.click(offset=(row.index("matrix"), y))
        await s.until(lambda: shown(s) == "matrix")

    play(tmp_path, story, size=(110, 30))


@pytest.mark.parametrize("size", [(60, 20), (40, 12)], ids=["on-a-line", "in-a-row"])
def test_the_names_of_the_views_take_one_row_and_a_click_on_its_end_goes_on(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def story(s: Stage) -> None:
        await s.press("f2")
        y, row = tabs_of(s)
        assert sum(len(name) + 2 for name in VIEWS) > len(row)
        end = row.index("›")  # noqa: RUF001
        further = [*VIEWS][[*VIEWS].index(row[:end].split()[-1]) + 1]
        await s.pilot.click(offset=(end, y))
        await s.until(lambda: shown(s) == further)
        await s.settle()
        assert f" {further} " in s.lines()[y]

    play(tmp_path, story, size=size)


@given(st.sampled_from(VIEW_NAMES), st.integers(16, 120))
def test_the_view_shown_is_always_named_and_no_row_is_too_long(name: str, width: int) -> None:
    low, high = seen_names(VIEW_NAMES, name, width)
    used = sum(len(each) + 2 for each in VIEW_NAMES[low:high]) + bool(low) + (high < len(VIEW_NAMES))
    assert name in VIEW_NAMES[low:high]
    assert used <= width


def test_another_channel_has_its_own_trace(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("only in the lobby")
        await s.until_text("only in the lobby")
        await s.enter("/lens graph")
        await s.until(lambda: "only in the lobby" in "".join(line[60:] for line in s.lines()))
        await s.enter("/join attic")
        await s.until(lambda: s.app.shown == "attic")
        await s.until(lambda: "only in the lobby" not in s.text())

    play(tmp_path, story, size=(160, 30))


def test_every_command_has_help_and_a_place_in_the_list() -> None:
    for command in COMMANDS:
        assert command.summary
        assert command.usage.startswith(f"/{command.name}")
        assert command.group == "lens"


def test_every_view_has_a_command() -> None:
    named = {name for command in COMMANDS for name in (command.name, *command.aliases)}
    assert set(VIEW_NAMES) - named == set()


def test_completion_knows_views_faults_and_people(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.until(lambda: any(person.nick == "bob" for person in s.app.view.channel("lobby").people()))
        named = {command.name: command for command in COMMANDS}
        for name, argument, expected in (
            ("lens", "", "matrix"),
            ("fault", "", "loss"),
            ("fault", "partition ", "bob"),
            ("fault", "loss 30% ", "in"),
        ):
            complete = named[name].complete
            assert complete is not None
            assert expected in list(complete(s.app, argument))

    play(tmp_path, story, "bob")


def listed(s: Stage) -> bool:
    """True if the list of channels stands beside the log."""
    return bool(s.app.panes.channel_list.display)


def test_the_lists_stay_above_the_lens_which_names_its_keys(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("/join dev")
        assert listed(s)
        await s.press("f2")
        assert listed(s)
        assert s.app.panes.member_list.display
        assert s.app.log_view.size.width > 60
        assert "Alt+Left Right views ⋅ F6, Tab scroll" in s.lines()[-1]
        await s.press("escape")
        assert listed(s)
        assert "Enter send" in s.lines()[-1]
        await s.pilot.resize_terminal(80, 24)
        await s.press("f2")
        assert "Esc closes the Lens ⋅ Alt+Left Right views ⋅ F6, Tab scroll" in s.lines()[-2]

    play(tmp_path, story)


def test_where_the_lens_covers_the_log_pages_and_f6_are_for_it(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.pilot.resize_terminal(60, 12)
        await s.press("f2")
        await s.until(lambda: bool(s.app.query(LensBody)), "the Lens")
        body = s.app.query_one(LensBody)
        await s.until(lambda: body.max_scroll_y > 0, "more lines than there is room for")
        await s.press("pagedown")
        assert body.scroll_y > 0
        await s.press("f6")
        assert body.has_focus
        await s.press("home")
        assert body.scroll_y == 0
        await s.press("f6")
        assert s.app.composer.has_focus

    play(tmp_path, story)


def test_ctrl_and_an_arrow_do_what_alt_and_the_arrow_do_where_words_do_not_need_them(tmp_path: Path) -> None:
    async def story(s: Stage) -> None:
        await s.enter("one")
        await s.enter("two")
        await s.press("ctrl+up", "ctrl+up")
        first = s.app.selection
        await s.press("ctrl+down")
        assert first != s.app.selection is not None
        await s.press("escape", "f2", "ctrl+right")
        assert s.app.lens.shown == "packet"
        await s.press("ctrl+left")
        assert s.app.lens.shown == "repair"
        await s.type("two words")
        await s.press("ctrl+left")
        assert s.app.lens.shown == "repair"
        assert s.app.composer.cursor_location == (0, 4)

    play(tmp_path, story)
