"""Keys: the input, the log, and the way between them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual import events
from textual.binding import Binding
from textual.command import CommandList

from sdschat.node.events import MessageDelivered
from sdschat.tui.keys import KeyedHost
from sdschat.tui.lens.panel import LensBody
from sdschat.tui.replay.app import ReplayApp
from sdschat.tui.widgets.log_view import LogView
from tests.tui.stage import Stage, stage, staged


@staged()
async def test_enter_sends_and_an_empty_line_does_not(s: Stage) -> None:
    await s.press("enter")
    await s.enter("   ")
    assert s.app.view.channel("lobby").count() == 0


async def at_once(s: Stage, text: str) -> None:
    """Press keys as a terminal delivers them if the user types faster than they are handled."""
    for letter in text:
        s.app.post_message(events.Key("enter" if letter == "\r" else letter, letter))
    await s.settle()


@staged()
async def test_what_is_typed_right_after_enter_stays(s: Stage) -> None:
    await at_once(s, "one\rtwo\rthr")
    assert [entry.text for entry in s.app.model.timeline.messages()] == ["one", "two"]
    assert s.app.composer.text == "thr"


@staged()
async def test_a_command_that_fails_can_be_recalled_where_something_else_was_typed_already(s: Stage) -> None:
    await at_once(s, "/nosuch\rtwo")
    assert "no command" in s.hint()
    assert s.app.composer.text == "two"
    await s.press("up")
    assert s.app.composer.text == "/nosuch"


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
        assert s.app.channel == f"c{key[-1]}"


@staged()
async def test_f3_is_the_list_of_channels_and_shift_enter_a_new_line(s: Stage) -> None:
    await s.type("one")
    await s.press("shift+enter")
    assert s.app.composer.text == "one\n"
    await s.press("f3")
    assert "1 lobby  alone" in s.text()


@staged(peers=("bob",))
async def test_alt_enter_and_ctrl_j_begin_a_new_line(s: Stage) -> None:
    await s.type("one")
    await s.press("alt+enter")
    await s.type("two")
    await s.press("ctrl+j")
    await s.type("three")
    assert s.app.composer.size.height == 3
    await s.press("enter")
    told = await s.peers["bob"].until(MessageDelivered)
    assert told.said.opened.text == "one\ntwo\nthree"


@staged()
async def test_a_paste_never_sends(s: Stage) -> None:
    s.app.post_message(events.Paste("ten\nlines\n/quit\n"))
    await s.settle()
    assert s.app.view.channel("lobby").count() == 0
    assert s.app.composer.text == "ten\nlines\n/quit\n"
    assert s.hint() == ""


@staged()
async def test_a_long_paste_says_how_long_it_is(s: Stage) -> None:
    text = "".join(f"line {number}\n" for number in range(200))
    s.app.post_message(events.Paste(text))
    await s.settle()
    assert s.hint() == "200 lines pasted; Enter sends all of it as one message"
    assert s.app.composer.text == text


@staged()
async def test_up_and_down_recall_what_was_written(s: Stage) -> None:
    await s.enter("first")
    await s.enter("second")
    await s.type("unfinished")
    await s.press("up")
    assert s.app.composer.text == "second"
    await s.press("up")
    assert s.app.composer.text == "first"
    await s.press("down", "down")
    assert s.app.composer.text == "unfinished"


@staged()
async def test_up_moves_within_several_lines_first(s: Stage) -> None:
    await s.enter("earlier")
    await s.type("one\ntwo")
    await s.press("up")
    assert s.app.composer.text == "one\ntwo"
    await s.press("up")
    assert s.app.composer.text == "earlier"


@staged()
async def test_ctrl_r_searches_what_was_written(s: Stage) -> None:
    for text in ("release one", "lunch", "release two"):
        await s.enter(text)
    await s.press("ctrl+r", "r", "e", "l")
    assert s.app.composer.text == "release two"
    assert "search in what you wrote: rel" in s.hint()
    await s.press("ctrl+r")
    assert s.app.composer.text == "release one"
    await s.press("enter")
    assert s.hint() == ""
    await s.press("enter")
    assert any("release one" in line for line in s.log()[3:])


@staged()
async def test_escape_ends_the_search(s: Stage) -> None:
    await s.enter("release one")
    await s.press("ctrl+r", "x", "backspace", "l", "escape")
    assert s.app.composer.text == ""
    assert s.hint() == ""


@staged(peers=("bob", "bert"))
async def test_tab_completes_nicks_in_turn(s: Stage) -> None:
    await s.until(lambda: len(s.app.view.channel("lobby").people()) == 3)
    await s.type("b")
    await s.press("tab")
    first = s.app.composer.text
    await s.press("tab")
    assert {first, s.app.composer.text} == {"bob: ", "bert: "}
    assert "[" in s.hint()


@staged("lobby", "dev")
async def test_tab_completes_commands_and_their_arguments(s: Stage) -> None:
    await s.type("/sea")
    await s.press("tab")
    assert s.app.composer.text == "/search "
    s.app.composer.put("/go d")
    await s.press("tab")
    assert s.app.composer.text == "/go dev "
    s.app.composer.put("/theme li")
    await s.press("tab")
    assert s.app.composer.text == "/theme light "


@staged()
async def test_tab_with_nothing_to_complete_says_so(s: Stage) -> None:
    await s.type("zzz")
    await s.press("tab")
    assert "nothing to complete" in s.hint()
    assert s.app.composer.text == "zzz"


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
    await s.press("f6", "r", "escape")
    await s.enter("by the way")
    told = await s.peers["bob"].until(MessageDelivered, lambda told: told.said.opened.text == "by the way")
    assert told.said.opened.reply_to == ""


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
    await at_once(s, "legend\r")
    await s.until_text("saved here")


@staged()
async def test_escape_goes_back_to_the_end(s: Stage) -> None:
    for number in range(100):
        s.app.node.send("lobby", f"number {number}")
    await s.settle()
    await s.press("pageup", "escape")
    assert s.follows()


@staged("lobby", "dev")
async def test_every_channel_has_its_own_draft(s: Stage) -> None:
    await s.type("for the lobby")
    await s.press("alt+2")
    assert s.app.composer.text == ""
    await s.type("for dev")
    await s.press("alt+1")
    assert s.app.composer.text == "for the lobby"


def test_drafts_and_what_was_written_survive(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path) as s:
            await s.enter("sent before")
            await s.type("not sent yet")
        async with stage(tmp_path) as s:
            assert s.app.composer.text == "not sent yet"
            s.app.composer.put("")
            await s.press("up")
            assert s.app.composer.text == "sent before"

    asyncio.run(story())


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


@staged("lobby", "dev", size=(120, 30))
async def test_the_mouse_picks_a_channel(s: Stage) -> None:
    await s.pilot.click("#channels", offset=(3, 3))
    await s.settle()
    assert s.app.channel == "dev"


@staged(size=(110, 30))
async def test_the_frame_of_the_input_names_the_keys_of_what_has_the_focus(s: Stage) -> None:
    await s.until_text("message lobby")
    assert "Enter send" in s.text()
    assert "r answer" not in s.text()
    s.app.log_view.focus()
    await s.until_text("r answer")
    assert "Enter send" not in s.lines()[-1]


@staged()
async def test_a_draft_is_saved_at_a_pause_and_not_only_every_few_seconds(s: Stage) -> None:
    await s.type("half a thought")

    def saved() -> bool:
        s.app._seconds = 0  # the other way to be saved never comes
        return s.app.conversation.draft() == "half a thought"

    await s.until(saved, "the draft")


@staged(peers=("bob",))
async def test_whoever_leaves_is_told_what_becomes_of_the_rest(s: Stage) -> None:
    await s.until_text("2 here")
    await s.press("ctrl+c")
    assert s.hint() == "Once more to leave.", "nothing waits"
    s.app.desktop.hosting = True
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
