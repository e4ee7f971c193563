"""Keys: channels, the log, lists, the palette, the mouse, and leaving."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual import events
from textual.binding import Binding
from textual.command import CommandList

from sdschat.node.events import MessageDelivered
from sdschat.tui.keys import KeyedHost
from sdschat.tui.lens.panel import LensBody
from sdschat.tui.replay.app import ReplayApp
from sdschat.tui.widgets.log_view import LogView
from tests.tui.stage import Stage, staged


def test_every_key_is_pressed_by_some_test() -> None:
    written = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    bound = [binding for owner in (KeyedHost, LogView, LensBody, ReplayApp) for binding in owner.BINDINGS]
    keys = {key for binding in bound if isinstance(binding, Binding) for key in binding.key.split(",")}
    of_the_input = {"enter", "alt+enter", "ctrl+j", "shift+enter", "tab", "up", "down", "ctrl+r", "pageup", "pagedown"}
    assert len(keys) > 40
    assert not {key for key in keys | of_the_input if f'"{key}"' not in written}


@staged(*(f"c{number}" for number in range(1, 10)))
async def test_alt_and_a_digit_shows_that_channel(s: Stage) -> None:
    for key in ("alt+2", "alt+3", "alt+4", "alt+5", "alt+6", "alt+7", "alt+8", "alt+9", "alt+1"):
        await s.press(key)
        assert s.app.shown == f"c{key[-1]}"


@staged()
async def test_f3_is_the_list_of_channels_and_shift_enter_a_new_line(s: Stage) -> None:
    await s.type("one")
    await s.press("shift+enter")
    assert s.app.composer.text == "one\n"
    await s.press("f3")
    assert "1 lobby  alone" in s.text()


@staged()
async def test_selecting_with_alt_and_arrows_tells_about_the_message(s: Stage) -> None:
    await s.enter("one")
    await s.enter("two")
    await s.press("alt+up", "alt+up")
    entry = s.app.model.timeline.entries[s.app.selection or ""]
    assert entry.text == "one"
    assert entry.message_id[:8] in s.app.panes.said("details")
    await s.press("alt+down")
    assert s.app.model.timeline.entries[s.app.selection or ""].text == "two"
    await s.press("escape")
    assert s.app.selection is None
    assert s.app.panes.said("details") == ""


@staged(peers=("bob",))
async def test_r_in_the_log_answers_and_escape_does_not(s: Stage) -> None:
    message_id = s.say("question")
    await s.until_text("question")
    await s.press("f6", "up", "r")
    assert "answer to bob: question" in s.text()
    await s.enter("answer")
    told = await s.peers["bob"].until(MessageDelivered, lambda told: told.said.opened.text == "answer")
    assert told.said.opened.reply_to == message_id
    await s.press("f6", "up", "r", "escape")
    await s.enter("by the way")
    told = await s.peers["bob"].until(MessageDelivered, lambda told: told.said.opened.text == "by the way")
    assert told.said.opened.reply_to == ""


@staged("lobby", "dev", peers=("bob",))
async def test_an_answer_stays_one_while_another_channel_is_shown(s: Stage) -> None:
    """Its text was kept as a draft, and sent as an answer to nothing."""
    message_id = s.say("question")
    await s.until_text("question")
    await s.press("f6", "up", "r")
    await s.type("the answer")
    await s.press("alt+2")
    assert "message dev" in s.text()
    await s.enter("to nobody")
    assert [entry.quote for entry in s.app.model.timeline.messages()] == [None]
    await s.press("alt+1")
    assert "answer to bob: question" in s.text()
    await s.press("enter")
    told = await s.peers["bob"].until(MessageDelivered, lambda told: told.said.opened.text == "the answer")
    assert told.said.opened.reply_to == message_id


@staged()
async def test_letters_in_the_log_are_commands(s: Stage) -> None:
    await s.enter("see https://a.example/x")
    await s.press("f6", "k", "j", "y")
    assert s.app.clipboard == "see https://a.example/x"
    await s.press("o")
    assert "would be opened" in s.hint()
    await s.press("i")
    assert (s.app.selection or "nothing") in s.text()


@staged(size=(100, 20))
async def test_paging_from_the_input_and_in_the_log(s: Stage) -> None:
    for number in range(100):
        s.app.node.send("lobby", f"number {number} of many")
    await s.settle()
    await s.press("pageup")
    assert not s.follows()
    assert not any("number 99 " in line for line in s.log())
    await s.press("pagedown")
    assert s.follows()
    await s.press("f6", "home")
    assert "number 0 " in s.log()[1]
    await s.press("space")
    assert not any("number 0 " in line for line in s.log())
    await s.press("end")
    assert "number 99 " in s.log()[-1]
    await s.press("g", "G")
    assert s.follows()
    await s.press("pageup", "alt+end")
    assert s.follows()


@staged(size=(120, 30))
async def test_f3_and_f4_show_and_hide_the_lists(s: Stage) -> None:
    await s.enter("/join dev")
    for key, pane in (("f3", "#channels"), ("f4", "#members")):
        assert s.app.query_one(pane).display
        await s.press(key)
        assert not s.app.query_one(pane).display


@staged()
async def test_f5_tells_about_the_selection(s: Stage) -> None:
    await s.enter("one")
    await s.press("alt+up", "f5")
    assert (s.app.selection or "nothing") in s.text()


@staged()
async def test_ctrl_f_begins_a_search(s: Stage) -> None:
    await s.enter("one rope")
    await s.press("ctrl+f", *"rope")
    await s.until_text("1 of 1")


@staged()
async def test_ctrl_c_copies_what_is_marked_and_leaves_at_the_second_press(s: Stage) -> None:
    await s.type("mark me")
    s.app.composer.select_all()
    await s.press("ctrl+c")
    assert s.app.clipboard == "mark me"
    s.app.composer.put("")
    await s.press("ctrl+c")
    assert "Once more to leave" in s.hint()
    await s.press("ctrl+c")
    assert s.app.return_code == 0


@staged()
async def test_one_press_of_ctrl_q_does_not_leave(s: Stage) -> None:
    await s.press("ctrl+q")
    assert "Once more" in s.hint()
    assert s.app.is_running


def chosen(s: Stage) -> str:
    """Return the text of the highlighted row of the palette."""
    found = s.app.screen.query_one(CommandList)
    return "" if found.highlighted is None else str(found.get_option_at_index(found.highlighted).prompt)


@staged("lobby", "dev")
async def test_the_palette_runs_commands(s: Stage) -> None:
    await s.press("ctrl+p")
    await s.press(*"legend")
    await s.until(lambda: "What the signs mean" in chosen(s), "the palette did not find it")
    await s.press("enter")
    await s.until_text("saved here")


@staged("lobby", "dev")
async def test_the_palette_takes_what_was_typed_however_fast_enter_follows(s: Stage) -> None:
    """The list of an earlier text, here of none, stays on the screen until the next one is there."""
    await s.press("ctrl+p")
    await s.until(lambda: chosen(s) != "", "the palette lists nothing")
    await s.type_at_once("legend\r")
    await s.until_text("saved here")


@staged()
async def test_escape_goes_back_to_the_end(s: Stage) -> None:
    for number in range(100):
        s.app.node.send("lobby", f"number {number}")
    await s.settle()
    await s.press("pageup", "escape")
    assert s.follows()


@staged(size=(100, 20))
async def test_the_mouse_selects_and_scrolls(s: Stage) -> None:
    for number in range(60):
        s.app.node.send("lobby", f"number {number}")
    await s.settle()
    await s.pilot.click("#log", offset=(30, 4))
    assert s.app.selection
    await s.press("escape")
    assert not s.app.selection
    s.app.log_view.post_message(events.MouseScrollUp(s.app.log_view, 5, 5, 0, 0, 0, False, False, False))
    await s.settle()
    assert not any("number 59" in line for line in s.log())


def _reversed(s: Stage, row: int) -> str:
    """Return what is drawn in reverse in a row of the log."""
    log = s.app.log_view.region
    strip = s.app.screen._compositor.render_strips()[log.y + row].crop(log.x, log.right)
    return "".join(text for text, style, _ in strip if style is not None and style.reverse)


async def _mark(s: Stage, text: str) -> int:
    """Mark a text of the log with the mouse, and return its row."""
    row, at = next((row, line.index(text)) for row, line in enumerate(s.log()) if text in line)
    await s.pilot.mouse_down("#log", offset=(at, row))
    await s.pilot.hover("#log", offset=(at + len(text), row))
    await s.pilot.mouse_up("#log", offset=(at + len(text), row))
    await s.settle()
    return row


@pytest.mark.parametrize("theme", ["dark", "light", "contrast", "plain"])
def test_a_text_marked_with_the_mouse_is_seen_to_be_marked(tmp_path: Path, theme: str) -> None:
    @staged(theme=theme)
    async def story(s: Stage) -> None:
        await s.enter("bring the long rope")
        await s.until_text("long rope")
        row = await _mark(s, "the long")
        assert _reversed(s, row).strip() == "the long"
        await s.press("ctrl+c")
        assert s.app.clipboard == "the long"

    story(tmp_path)


@pytest.mark.parametrize(("to", "copied"), [("a hook", "the rope\n  with knots\nand a hook"), ("a boat", None)])
def test_lines_marked_within_one_message_are_copied_as_they_were_written(
    tmp_path: Path, to: str, copied: str | None
) -> None:
    @staged(peers=("bob",))
    async def story(s: Stage) -> None:
        s.say("ann: the rope\n  with knots\nand a hook")
        s.say("and a boat")
        await s.until_text("a boat")
        rows = list(enumerate(s.log()))
        (low, first), (high, last) = (
            next((row, line.index(text)) for row, line in rows if text in line) for text in ("the rope", to)
        )
        await s.pilot.mouse_down("#log", offset=(first, low))
        await s.pilot.hover("#log", offset=(last + len(to), high))
        await s.pilot.mouse_up("#log", offset=(last + len(to), high))
        await s.settle()
        await s.press("ctrl+c")
        if copied is None:
            assert re.search(r"\n\W{10,}with knots\n\W{10,}and a hook .*\n.*and a boat$", s.app.clipboard)
        else:
            assert s.app.clipboard == copied

    story(tmp_path)


@staged()
async def test_two_clicks_on_a_message_do_not_mark_the_log(s: Stage) -> None:
    await s.enter("bring the long rope")
    await s.until_text("long rope")
    await s.pilot.double_click("#log", offset=(30, 1))
    await s.settle()
    assert s.app.selection is not None
    assert s.app.screen.get_selected_text() is None


@staged("lobby", "dev", size=(120, 30))
async def test_the_mouse_picks_a_channel(s: Stage) -> None:
    await s.pilot.click("#channels", offset=(3, 3))
    await s.settle()
    assert s.app.shown == "dev"


@staged(size=(110, 30))
async def test_the_frame_of_the_input_names_the_keys_of_what_has_the_focus(s: Stage) -> None:
    await s.until_text("message lobby")
    assert "Enter send" in s.text()
    assert "r answer" not in s.text()
    s.app.log_view.focus()
    await s.until_text("Up Down select")
    assert "Enter send" not in s.lines()[-1]
    assert "r answer" not in s.text(), "no message is selected"
    await s.press("f6")
    await s.enter("a message")
    await s.press("f6", "up")
    await s.until_text("r answer")


@staged(peers=("bob",))
async def test_whoever_leaves_is_told_what_becomes_of_the_rest(s: Stage) -> None:
    await s.until_text("2 here")
    await s.press("ctrl+c")
    assert s.hint() == "Once more to leave.", "nothing waits"
    s.app.workspace.hosting = True
    await s.enter("/fault offline")
    await s.until(lambda: not s.app.view.connected("lobby"), "no connection")
    s.app.send("nobody has this")
    await s.type("half a line")
    s.app._quit_asked = 0.0
    await s.press("ctrl+c")
    assert s.hint() == (
        "Once more to leave. 1 message not sent yet goes out at the next start. What stands in the input is kept. "
        "The broker runs in this program: somebody else on this machine goes on with it."
    )


@staged(changes={"sds.resend_unacked": 3_600_000, "sds.resend_max": 7_200_000})
async def test_whoever_leaves_is_told_what_nobody_has_confirmed(s: Stage) -> None:
    await s.enter("is anybody here?")
    await s.until_text("unacked")
    await s.press("ctrl+c")
    assert s.hint() == "Once more to leave. 1 message that nobody has confirmed yet."


@staged(peers=("bob",))
async def test_what_is_typed_right_behind_the_key_of_an_answer_is_the_answer(s: Stage) -> None:
    s.say("who has the rope?")
    await s.until_text("who has the rope?")
    await s.press("alt+up", "f6")
    await s.type_at_once("ran old one\r")
    await s.until(lambda: any("an old one" in line for line in s.log()), "the answer is sent whole")
    assert any("↳ bob: who has the rope?" in line for line in s.log())
    assert s.app.composer.text == ""


@staged(peers=("bob",))
async def test_esc_in_a_sheet_goes_back_to_where_the_keys_were(s: Stage) -> None:
    first = s.say("who has the rope?")
    await s.until_text("who has the rope?")
    s.say("I have", reply_to=first)
    await s.until_text("I have")
    for opens in ("t", "f1"):
        await s.press("f6", "end", "up", opens)
        assert s.app.sheet.has_focus
        await s.press("escape")
        assert s.app.log_view.has_focus
        await s.press("f6")
    await s.press("f1", "escape")
    assert s.app.composer.has_focus
