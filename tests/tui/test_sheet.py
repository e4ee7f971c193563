"""The sheet: help, answers and lists over the log."""

from __future__ import annotations

import re

from textual import events

from sdschat.node.tools.fault_injection import Injection
from sdschat.tui.model.results import Page
from sdschat.tui.widgets.sheet import Sheet
from tests.tui.stage import Stage, staged


async def _long_log(s: Stage) -> None:
    for number in range(40):
        await s.enter(f"number {number}")


@staged(size=(80, 24))
async def test_help_opens_at_its_top_and_esc_closes_it(s: Stage) -> None:
    await s.press("f1")
    assert s.lines()[2].startswith("│ -  Type, and press Enter."), "what one does here comes before the shell"
    await s.press("tab")
    assert "Alt+Enter, Ctrl+J   begins a new line" in s.text()
    assert "/keys NAME KEY" in s.text()
    await s.press("escape")
    assert "/keys NAME KEY" not in s.text()
    assert s.app.composer.has_focus


@staged(size=(80, 24))
async def test_an_answer_of_three_lines_stands_above_the_input_and_a_longer_one_on_a_sheet(s: Stage) -> None:
    for text, on_sheet in (("a\nb\nc", False), ("a\nb\nc\nd", True), ("x" * 159, False), ("x" * 160, True)):
        s.app.answer(text, "words")
        await s.settle()
        assert (s.app.sheet.page is not None) == on_sheet
        assert bool(s.hint()) != on_sheet
        s.app.close_sheet()
        s.app.panes.hint("")
    s.app.answer("as long as it is of use", "words", stays=True)
    assert s.app.sheet.page is not None


@staged(size=(200, 50))
async def test_a_text_is_no_wider_than_one_can_read(s: Stage) -> None:
    await s.press("f1")
    text = [line[1:].partition("│")[0].strip() for line in s.lines() if line.startswith("│")]
    assert max(map(len, text)) <= 110
    assert "never sends" in s.text()


@staged(size=(80, 24))
async def test_f1_again_closes_help(s: Stage) -> None:
    await s.press("f1", "f1")
    assert s.app.sheet.page is None


@staged(size=(80, 24))
async def test_typed_letters_leave_only_the_lines_that_have_them(s: Stage) -> None:
    await s.enter("/legend")
    await s.until_text("nothing yet")
    await s.press(*"unack")
    await s.until_text("filter: unack_")
    assert "unacked" in s.text()
    assert "nothing yet" not in s.text()
    await s.press("q")
    await s.until_text("No line here has unackq. Backspace takes a letter back.")
    await s.press(*("backspace",) * 6, *"reconnec")
    await s.until_text("No line here has reconnec. On another page (Tab): first steps and commands.")
    await s.press(*("backspace",) * 8)
    await s.until_text("nothing yet")
    assert s.app.composer.text == ""


@staged(size=(80, 24), peers=("bob",))
async def test_an_answer_is_seen_wherever_one_reads_and_typing_goes_on(s: Stage) -> None:
    await _long_log(s)
    await s.press("pageup", "pageup")
    assert not s.follows()
    await s.enter("/help goto")
    assert "also: /g" in s.text()
    await s.type("hello")
    assert s.app.composer.text == "hello"
    await s.press("escape")
    assert "also: /g" not in s.text()
    assert not s.follows()


@staged(size=(80, 24), peers=("bob",))
async def test_details_change_while_they_are_shown(s: Stage) -> None:
    await s.enter("/fault partition bob")
    await s.enter("who has the rope?")
    await s.press("f5")
    assert "bob is known to have it." not in s.text()
    s.app.composer.put("")
    s.app.sheet.focus()
    await s.press("pagedown")
    Injection(s.app.node, "lobby").off()
    s.say("I do")
    await s.until_text("bob is known to have it.")
    assert s.app.sheet.page is not None
    assert s.app.sheet.has_focus


@staged(size=(80, 24))
async def test_a_short_answer_stands_above_the_input_and_goes(s: Stage) -> None:
    await s.enter("/outbox")
    assert "nothing waits" in s.hint()
    assert s.app.sheet.page is None
    s.app._forget(s.hint())
    assert s.hint() == ""


@staged("lobby", "dev", "attic", size=(80, 24))
async def test_f3_lists_the_channels_where_no_list_has_room_and_enter_shows_one(s: Stage) -> None:
    await s.press("f3")
    assert "1 lobby  alone" in s.text()
    await s.press("down", "enter")
    assert s.app.shown == "dev"
    assert s.app.sheet.page is None
    assert s.app.composer.has_focus
    await s.press("f3", *"att", "enter")
    assert s.app.shown == "attic"


@staged(size=(80, 24), peers=("bob",))
async def test_f4_lists_who_is_here_with_their_ids(s: Stage) -> None:
    await s.until_text("2 here")
    await s.press("f4")
    bob = s.peers["bob"].node.sender_id
    assert f"bob  {bob[:8]}" in s.text()
    await s.press("f4")
    assert f"bob  {bob[:8]}" not in s.text()


@staged("lobby", "dev", peers=("bob",), size=(60, 15))
async def test_both_lists_stand_in_one_place(s: Stage) -> None:
    """One stood at the top and the other at the bottom, by their lengths and by what was written."""
    await s.until_text("2 here")
    for size in ((60, 15), (80, 24), (40, 10)):
        await s.pilot.resize_terminal(*size)
        places = []
        for key in ("f3", "f4"):
            await s.press(key)
            places.append(s.app.sheet.region.y)
            await s.press("escape")
        assert places == [s.app.logs.region.y] * 2


@staged(size=(60, 15))
async def test_everything_of_a_page_can_be_reached_at_a_small_size(s: Stage) -> None:
    await s.press("f1", "tab", "tab", "end")
    await s.until_text("NAME tells more of a command")


@staged(peers=("bob",), size=(80, 24))
async def test_a_short_sheet_leaves_the_log_below_it_in_sight(s: Stage) -> None:
    for number in range(20):
        await s.enter(f"text {number}")
    await s.press("f3")
    sheet = s.app.query_one(Sheet)
    assert sheet.outer_size.height == len(sheet.page.lines) + 2  # type: ignore[union-attr]
    assert "text 19" in s.text()
    await s.press("x")
    assert sheet.outer_size.height == len(sheet.page.lines) + 2  # type: ignore[union-attr]
    await s.press("escape", "f1")
    assert sheet.outer_size.height > 15, "a long page has all the room there is"
    assert "Esc closes" in s.text()


@staged(peers=("bob",), size=(110, 24))
async def test_a_sheet_stands_below_a_short_log_until_the_log_needs_the_room(s: Stage) -> None:
    for number in range(4):
        await s.enter(f"text {number}")
    await s.enter("/info")
    sheet, area = s.app.query_one(Sheet), s.app.logs.region
    assert "text 0" in s.text()
    assert sheet.region.bottom == area.bottom
    for number in range(4, 20):
        s.say(f"text {number}")
    await s.until_text("text 19")
    await s.settle()
    assert sheet.region.y == area.y, "the newest messages are at the other end"
    assert "text 19" in s.text()


@staged(size=(110, 30))
async def test_a_sheet_leaves_the_message_that_is_selected_in_sight(s: Stage) -> None:
    for number in range(40):
        s.app.send(f"text {number}.")
    await s.until_text("text 39.")
    await s.press("f6", *["up"] * 24)
    chosen = "text 16."
    await s.until_text(chosen)
    await s.press("i")
    sheet = s.app.query_one(Sheet)
    assert sheet.page is not None
    rows = [line for line in s.lines() if chosen in line]
    assert len(rows) == 2, "in the log and on the sheet"


@staged(size=(110, 30))
async def test_what_is_told_of_a_command_is_broken_where_the_sheet_ends(s: Stage) -> None:
    await s.enter("/help goto")
    rows = [line.strip("│ ") for line in s.lines()]
    (begins,) = (at for at, row in enumerate(rows) if row.startswith("TIME is"))
    assert rows[begins + 1].endswith("letters of an id may be given."), "two rows, and no short one between"


def _styles_of(s: Stage, text: str) -> set[str]:
    """Return the colours in which a text stands on the sheet, by the names of styles."""
    sheet = s.app.query_one(Sheet)
    names = {sheet.line_style.style(name).color: name for name in ("key", "heading", "help", "time")}
    found = (segment for y in range(sheet.size.height) for segment in sheet.render_line(y))
    return {names.get(each.style.color, "?") for each in found if text in each.text and each.style is not None}


@staged(size=(80, 24))
async def test_keys_and_commands_stand_out_in_help(s: Stage) -> None:
    await s.press("f1")
    assert _styles_of(s, "Alt+Enter") == {"key"}
    await s.press("tab")
    assert _styles_of(s, "Ctrl+R") == {"key"}
    assert _styles_of(s, "searches what you wrote") == {"help"}
    await s.press("tab")
    assert _styles_of(s, "/reply [ID] TEXT") == {"key"}


@staged(size=(60, 15))
async def test_a_filter_leaves_a_command_together_with_what_it_does(s: Stage) -> None:
    await s.press("f1", "tab", "tab", *"qr", "space", *"code")
    assert "A link and a QR code" in s.text()
    await s.press(*("backspace",) * 7)
    await s.press(*"members|")
    assert "/create CHANNEL [private|members|since-join]" in s.text()
    assert "Make a private channel" in s.text(), "it stands in a line of its own, and belongs to the command"
    assert "/join" not in s.text()


@staged(size=(100, 30))
async def test_every_command_has_a_line_in_help(s: Stage) -> None:
    await s.press("f1", "tab", "tab")
    page = s.app.query_one(Sheet).page
    assert page is not None
    listed = [line.split()[0] for line in page.lines if line.startswith("  /")]
    assert sorted(listed) == sorted(f"/{name}" for name in s.app.registry.names())


@staged(size=(80, 24), peers=("bob",))
async def test_hits_are_marked_in_their_list_and_what_goes_left_is_isolated(s: Stage) -> None:
    s.say("the long rope")
    s.say("\u05e9\u05dc\u05d5\u05dd rope 12")
    await s.until_text("rope 12")
    await s.enter("/search rope")
    await s.enter("/hits")
    sheet = s.app.query_one(Sheet)
    rows = [sheet.render_line(y) for y in range(2)]
    for row in rows:
        found = [each for each in row if each.style is not None and each.style.reverse]
        assert [(each.text, each.style is not None and each.style.underline) for each in found] == [("rope", True)]
    assert rows[0].text.startswith("\u2066"), "number, time and nick stay in order"
    assert "\u2069" in rows[0].text


@staged("lobby", "dev", size=(110, 20))
async def test_the_line_above_the_input_names_other_channels_only_where_no_list_does(s: Stage) -> None:
    assert "2 dev" not in s.lines()[-2], "the list of channels stands beside the log"
    assert "Enter send" in s.lines()[-2]
    await s.pilot.resize_terminal(80, 24)
    await s.settle()
    assert "2 dev" in s.lines()[-2]


@staged(size=(80, 24))
async def test_letters_right_behind_the_key_of_help_filter_it(s: Stage) -> None:
    s.app.post_message(events.Key("f1", None))
    await s.type_at_once("pasting")
    await s.until_text("filter: pasting_")
    assert s.app.composer.text == ""


@staged(size=(100, 30))
async def test_esc_takes_the_filter_away_first_and_then_the_sheet(s: Stage) -> None:
    await s.press("f1")
    await s.type_at_once("reconnect")
    await s.until_text("filter: reconnect_")
    await s.press("escape")
    assert s.app.sheet.display
    assert "filter: " not in s.text()
    await s.press("escape")
    await s.until(lambda: not s.app.sheet.display, "it closes")


@staged(size=(80, 24))
async def test_pages_and_ends_are_reached_at_once(s: Stage) -> None:
    await s.press("f1", "tab", "tab")
    sheet = s.app.sheet
    assert "PgUp PgDn ⋅ Tab next page" in s.text()
    await s.press("pagedown")
    assert sheet.scroll_y == sheet.scrollable_content_region.height - 1
    await s.press("end")
    assert sheet.scroll_y == sheet.max_scroll_y
    await s.press("pageup", "home")
    assert sheet.scroll_y == 0


@staged(*(f"channel-{number}" for number in range(30)), size=(60, 15))
async def test_pages_and_ends_choose_in_a_list(s: Stage) -> None:
    await s.press("f3", "end", "pageup", "pagedown", "up", "enter")
    await s.until(lambda: s.app.shown == "channel-29", "the last channel")
    await s.press("f3", "end", "home", "enter")
    await s.until(lambda: s.app.shown == "channel-0", "the first channel")


@staged(size=(60, 15))
async def test_a_sheet_that_gets_its_frame_back_is_drawn_as_one_opened_there(s: Stage) -> None:
    await s.press("f1")
    opened = s.lines()
    await s.pilot.resize_terminal(60, 4)
    await s.settle()
    await s.pilot.resize_terminal(60, 15)
    await s.settle()
    assert s.lines() == opened


@staged("lobby", "dev", size=(120, 40), peers=("bob",))
async def test_a_sheet_lies_over_the_log_and_leaves_the_lists_whole(s: Stage) -> None:
    await s.until_text("2 here")
    await s.enter("/help goto")
    assert re.match(r"╭─ channels ─+╮.*╭─ 2 here ─+╮$", s.lines()[1]), s.lines()[1]
    frame = next(line for line in s.lines() if " goto " in line)
    assert re.match(r"│ +│ ╭─ goto ─+╮│ +│$", frame), frame
    await s.press("f3", "f4")
    assert any(re.match(r"╭─ goto ─+╮$", line) for line in s.lines()), "without the lists it has their place"


@staged(size=(120, 40))
async def test_the_pages_of_help_have_one_height(s: Stage) -> None:
    await s.press("f1")
    height = s.app.sheet.size.height
    await s.press("tab")
    assert s.app.sheet.size.height == height


@staged(size=(80, 24), peers=("bob",))
async def test_the_keys_of_a_sheet_are_those_that_do_something(s: Stage) -> None:
    await s.enter("/help goto")
    assert " Esc closes " in s.text()
    assert "PgUp PgDn" not in s.text(), "all of it is seen"
    await s.press("escape", "f1", "tab")
    assert "PgUp PgDn ⋅ Tab next page ⋅ type to filter ⋅ Esc closes" in s.text()
    await s.press("j", "o")
    assert "filter: jo_ ⋅ Esc shows all" in s.text()
    await s.press("escape")
    assert "filter" not in s.lines()[-3].replace("type to filter", "")


@staged(size=(60, 24))
async def test_a_long_filter_leaves_room_for_the_key_that_takes_it_away(s: Stage) -> None:
    await s.press("f1", *"acknowledgement-of-a-message-by-somebody-who-is-here")
    assert "filter: …sage-by-somebody-who-is-here_ ⋅ Esc shows all" in s.text()
    await s.press("escape", *"unack")
    assert "filter: unack_ ⋅ Esc shows all" in s.text()


@staged(size=(60, 24))
async def test_a_text_does_not_touch_the_scroll_bar(s: Stage) -> None:
    await s.press("f1")
    rows = [line[-3] for line in s.lines() if line.startswith("│") and line.endswith("│")]
    assert rows
    assert set(rows) == {" "}


@staged(size=(70, 24))
async def test_a_heading_is_one_in_all_of_its_rows_and_no_row_of_a_text_is_one(s: Stage) -> None:
    long = "a heading that is so long that it does not have room in a single row of this small sheet:"
    s.app.sheet.open(
        [Page("page", [long, "- a: text, and its first row ends with a colon, like this one here in it: more"])]
    )
    await s.settle()
    bold = {
        strip.text.strip(): any(part.style is not None and part.style.bold for part in strip)
        for strip in (s.app.sheet.render_line(y) for y in range(4))
    }
    assert [*bold.values()] == [True, True, False, False], bold


@staged("lobby", "dev", size=(120, 40), peers=("bob",))
async def test_an_id_is_whole_though_the_sheet_covers_the_lists_for_it(s: Stage) -> None:
    await s.until_text("2 here")
    await s.enter("good morning")
    await s.press("f5")
    assert s.app.selection is None
    assert re.search(r"id +[0-9a-f]{64}", s.text())
    assert any(re.match(r"╭─ message ─+╮$", line) for line in s.lines()), "over the lists"
    assert s.app.query_one(Sheet).outer_size.height < 20, "and no higher than its text"
    assert s.text().count("good morning") == 2, "in the log and on the sheet"


@staged(size=(70, 24), theme="plain")
async def test_what_is_before_a_heading_that_goes_on_is_not_underlined(s: Stage) -> None:
    long = "a heading that is so long that it does not have room in a single row of this small sheet:"
    s.app.sheet.open([Page("page", [long])])
    await s.settle()
    rows = [s.app.sheet.render_line(y) for y in range(2)]
    underlined = ["".join(part.text for part in row if part.style and part.style.underline) for row in rows]
    assert all(underlined)
    assert underlined == [text.strip() for text in underlined]


@staged(size=(80, 24))
async def test_a_click_on_its_title_shows_that_page(s: Stage) -> None:
    await s.press("f1")
    await s.pilot.click(offset=(s.lines()[1].index("commands"), 1))
    await s.until_text("/me TEXT")
    await s.pilot.click(offset=(s.lines()[1].index("first"), 1))
    await s.until_text("Type, and press Enter")


@staged(size=(80, 15))
async def test_a_click_on_the_frame_of_a_list_chooses_nothing(s: Stage) -> None:
    """It took the line that was next to be seen above."""
    await _long_log(s)
    await s.enter("/search number")
    await s.enter("/hits")
    await s.press("end")
    await s.until_text("number 0")
    top = next(row for row, line in enumerate(s.lines()) if "hits" in line)
    before = s.app.selection
    await s.pilot.click(offset=(30, top))
    await s.settle()
    assert "hits" in s.lines()[top]
    assert s.app.selection == before
