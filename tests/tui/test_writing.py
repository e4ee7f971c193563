"""The line that is being written: keys of the input, pastes, what was written before, completion, drafts."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from textual import events

from sdschat.node.events import MessageDelivered
from sdschat.tui.finder import FindInput
from sdschat.tui.terminal import KeyParser
from tests.tui.stage import Stage, stage, staged


@staged()
async def test_enter_sends_and_an_empty_line_does_not(s: Stage) -> None:
    await s.press("enter")
    await s.enter("   ")
    assert s.app.view.channel("lobby").count() == 0


@staged()
async def test_the_choices_of_a_completion_go_with_the_text_that_they_are_for(s: Stage) -> None:
    """They stayed above the next text, and looked like choices for it, until a line was sent."""
    await s.press(*"/theme", "space", "tab")
    assert "[auto]" in s.hint()
    await s.press("tab")
    assert "[dark]" in s.hint()
    await s.press("ctrl+u", *"see")
    assert not s.hint()


@staged()
async def test_what_is_typed_right_after_enter_stays(s: Stage) -> None:
    await s.type_at_once("one\rtwo\rthr")
    assert [entry.text for entry in s.app.model.timeline.messages()] == ["one", "two"]
    assert s.app.composer.text == "thr"


@staged()
async def test_a_command_that_fails_can_be_recalled_where_something_else_was_typed_already(s: Stage) -> None:
    await s.type_at_once("/nosuch\rtwo")
    assert "no command" in s.hint()
    assert s.app.composer.text == "two"
    await s.press("up")
    assert s.app.composer.text == "/nosuch"


@staged()
async def test_a_slash_behind_a_refused_command_begins_another_one(s: Stage) -> None:
    """The next command was glued to it, and refused as well."""
    await s.enter("/serch rope")
    await s.press("slash", "h")
    assert s.app.composer.text == "/h"
    await s.press("ctrl+z", "ctrl+z")
    assert s.app.composer.text == "/serch rope"
    await s.press("end", "slash")
    assert s.app.composer.text == "/serch rope/"


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
async def test_a_paste_into_the_log_goes_to_the_input_and_into_a_sheet_to_its_filter(s: Stage) -> None:
    await s.press("f6")
    s.app.post_message(events.Paste("from the clipboard"))
    await s.settle()
    assert s.app.composer.text == "from the clipboard"
    assert s.app.composer.has_focus
    await s.press("f1")
    s.app.post_message(events.Paste("fingerprint\n"))
    await s.settle()
    assert "filter: fingerprint_" in s.text()
    assert s.app.composer.text == "from the clipboard"


@staged()
async def test_a_line_break_ends_the_name_of_a_command(s: Stage) -> None:
    s.app.composer.put("/say\none\n  two")
    await s.press("enter")
    assert [entry.text for entry in s.app.model.timeline.entries.values()] == ["one\n  two"]
    s.app.composer.put("/nosuch\nline")
    await s.press("enter")
    assert "There is no command /nosuch." in s.hint()


@staged()
async def test_a_long_paste_says_how_long_it_is(s: Stage) -> None:
    text = "".join(f"line {number}\n" for number in range(200))
    s.app.post_message(events.Paste(text))
    await s.settle()
    assert s.hint() == "200 lines pasted; Enter sends all of it as one message, Ctrl+Z takes it back"
    assert s.app.composer.text == text
    await s.press("ctrl+z")
    assert s.app.composer.text == ""
    s.app.post_message(events.Paste("line\r" * 90))
    await s.settle()
    assert s.hint().startswith("90 lines pasted"), "as terminals paste"
    assert s.app.composer.text == "line\n" * 90


@staged()
async def test_a_paste_that_is_too_long_does_not_offer_to_send_it(s: Stage) -> None:
    """It said that Enter sends all of it, and Enter refused it."""
    for text, lines in (("x" * 70_000, "1 line"), ("twenty letters here\n" * 4000, "4000 lines")):
        s.app.post_message(events.Paste(text))
        await s.settle()
        wanted = f"{lines} pasted; more than a message in a channel holds (64 KiB), Ctrl+Z takes it back"
        assert s.hint() == wanted
        await s.press("ctrl+z")
        assert s.app.composer.text == ""


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
async def test_what_was_typed_over_a_recalled_text_is_kept_by_up_and_down(s: Stage) -> None:
    """A long text that was begun behind an Up was gone at the next Up, for good."""
    await s.enter("first")
    await s.enter("second")
    await s.press("up")
    s.app.composer.insert(", but another one")
    await s.press("up", "down")
    assert s.app.composer.text == "second, but another one"


@staged()
async def test_ctrl_z_takes_back_what_took_the_place_of_a_draft(s: Stage) -> None:
    """After Up, a completion or a command of the palette there was nothing to take back."""
    await s.enter("sent")
    await s.type("unfinished")
    await s.press("up", "ctrl+z")
    assert s.app.composer.text == "unfinished"
    s.app.action_start("/msg ")
    assert s.app.composer.text == "/msg "
    await s.press("ctrl+z")
    assert s.app.composer.text == "unfinished"
    await s.press("ctrl+u", *"/them", "tab", "ctrl+z")
    assert s.app.composer.text == "/them"


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
    await s.type("unfinished")
    await s.press("ctrl+r", "x", "backspace", "l")
    assert s.app.composer.text == "release one"
    await s.press("escape")
    assert (s.app.composer.text, s.hint()) == ("unfinished", "")


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
async def test_tab_behind_a_completed_command_completes_its_argument(s: Stage) -> None:
    """It put the same command there again, as often as one pressed it."""
    await s.type("/them")
    await s.press("tab")
    assert s.app.composer.text == "/theme "
    await s.press("tab")
    assert s.app.composer.text == "/theme auto "


@staged(size=(80, 24))
async def test_the_choice_that_is_taken_is_on_the_screen_and_the_others_are_counted(s: Stage) -> None:
    """Only four lines of the commands were shown, and the others could be taken unseen."""
    await s.type("/")
    names = len(s.app.registry.names())
    for _ in range(names):
        await s.press("tab")
        shown = " ".join(s.text().split())
        assert f"[{s.app.composer.text[1:].strip()}]" in shown
        assert re.search(r" and \d+ more ", shown)


@staged(size=(80, 24))
async def test_tab_completes_the_name_of_an_emoji(s: Stage) -> None:
    await s.type("well done :smi")
    await s.press("tab")
    assert s.app.composer.text == "well done \U0001f604 "
    assert s.hint().startswith("[\U0001f604 smile]  \U0001f60f smirk")
    await s.press("tab", "enter")
    await s.until(lambda: [entry.text for entry in s.app.model.timeline.messages()] == ["well done \U0001f60f "])


@staged()
async def test_tab_with_nothing_to_complete_says_so(s: Stage) -> None:
    await s.type("zzz")
    await s.press("tab")
    assert "nothing to complete" in s.hint()
    assert s.app.composer.text == "zzz"
    assert s.app._reading is not None, "it goes by itself"
    s.app._forget(s.hint())
    assert s.hint() == ""


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


@staged()
async def test_a_draft_is_saved_at_a_pause_and_not_only_every_few_seconds(s: Stage) -> None:
    await s.type("half a thought")

    def saved() -> bool:
        s.app._seconds = 0  # the other way to be saved never comes
        return s.app.conversation.draft() == "half a thought"

    await s.until(saved, "the draft")


@staged()
async def test_the_reason_of_a_refused_text_stays_until_it_changes_and_escape_empties_the_input(s: Stage) -> None:
    """The reason went after some seconds and the text stayed, so that the next line was appended to it."""
    await s.enter("/serch rope")
    assert s.app._reading is not None
    assert s.app._reading.cancelled()
    assert "Esc empty the input" in s.text()
    await s.press("x")
    assert (s.app.composer.text, s.hint()) == ("/serch ropex", "")
    assert "Esc empty the input" not in s.text()
    await s.press("enter")
    assert "There is no command /serch" in s.hint()
    await s.press("escape")
    assert (s.app.composer.text, s.hint()) == ("", "")


@staged()
async def test_escape_in_the_log_leaves_a_refused_text_and_ctrl_z_brings_back_what_escape_emptied(s: Stage) -> None:
    """Esc emptied the input, with two thousand lines in it, while the frame called it *Esc back*."""
    await s.enter("/serch a long line")
    await s.press("f6", "escape")
    assert s.app.composer.text == "/serch a long line"
    assert s.app.composer.has_focus
    await s.press("escape")
    assert s.app.composer.text == ""
    await s.press("ctrl+z")
    assert s.app.composer.text == "/serch a long line"


@staged(peers=("bob",))
async def test_typed_joiners_are_kept_and_sent(s: Stage) -> None:
    """They were left out of what is typed, as if they were no letters."""
    persian, family = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for key in KeyParser().feed(f"{persian} {family}"):
        s.app.post_message(key)
    await s.settle()
    assert s.app.composer.text == f"{persian} {family}"
    await s.press("enter")
    await s.until(lambda: s.peers["bob"].texts() == [f"{persian} {family}"])
    await s.press("ctrl+f")
    for key in KeyParser().feed(persian):
        s.app.post_message(key)
    await s.settle()
    assert s.app.screen.query_one(FindInput).value == persian
