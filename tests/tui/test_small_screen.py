"""Look at what a screen of 60 columns and 15 lines keeps whole. Keys are bytes."""

from __future__ import annotations

from pathlib import Path

from sdschat.node.events import ConnectionChanged, NodeEvent
from tests.tui.stage import Stage, staged
from tests.tui.terminal import Terminal
from tests.tui.test_terminal_keys import CHOSEN, ESC, join

SMALL = (60, 15)


def test_an_answer_names_its_original_and_the_key_that_leads_to_it(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path, size=SMALL) as terminal:
        terminal.until_text("message lobby")
        for text in ("the question", "something else", "more of it"):
            terminal.enter(text)
            terminal.until_text(text)
        terminal.press(f"{ESC}[1;3A" * 3)
        terminal.until_text(CHOSEN, "the question")
        terminal.press(f"{ESC}[17~r")
        terminal.until_text("answer to ann")
        terminal.enter("the answer")
        terminal.until_text("↳ ann: the question")
        terminal.press(f"{ESC}[17~k")
        terminal.until_text("r answer", "i details", "p original")
        terminal.press("\r")
        terminal.until_text("answers", "ann: the question", "p in the log (F6), or /original, jumps there")
        terminal.escape()
        terminal.press("p")
        terminal.until(
            lambda: (
                any(CHOSEN in line and line.endswith("unacked") for line in terminal.text().splitlines())
                and "p original" not in terminal.text()
            ),
            "p jumps nowhere",
        )
        chosen = next(line for line in terminal.text().splitlines() if CHOSEN in line)
        assert "the question" in chosen


def test_the_search_clips_nothing(tmp_path: Path) -> None:
    with Terminal(join("lobby"), tmp_path, size=SMALL) as terminal:
        terminal.until_text("message lobby")
        terminal.enter("the long rope")
        terminal.until_text("the long rope")
        terminal.press("\x06")
        terminal.until_text("find words from:nick since:2d before:10:00")
        terminal.press("since:someday rope")
        terminal.until_text("someday is no time, such as 10:02, 2025-11-20, 2h, 3d or yesterday.")
        terminal.until_text("find since:someday rope")
        terminal.press("\x15")
        terminal.until_text("find words from:nick")
        terminal.press("rope")
        terminal.until_text("1 of 1 ann,", "Tab list, Esc ends")


@staged(size=(40, 10))
async def test_without_a_connection_one_reads_what_to_do_whatever_the_reason(s: Stage) -> None:
    why = "127.0.0.1:1883 hung up without an answer. " * 6
    s.app.model.hear(NodeEvent("lobby", 0, ConnectionChanged("disconnected", "mqtt://x", "protocol", why, 1)), True)
    await s.settle()
    banner = " ".join(s.text().split())
    assert "OFFLINE 127.0.0.1:1883 hung up" in banner
    assert "/reconnect tries now" in banner


@staged(size=(30, 15))
async def test_the_sentence_on_a_message_leaves_room_for_the_log(s: Stage) -> None:
    await s.enter("selected")
    await s.press("alt+up")
    assert "Nobody else was heard here yet" in s.app.panes.said("details")
    assert s.app.panes.said("details").endswith("… | F5"), "the rest of it"
    assert s.app.panes.details.size.height == 2
    await s.press("f5")
    assert "so nobody could confirm it" in " ".join(s.text().replace("│", " ").split())
    assert s.app.panes.said("details") == "", "it stands on the sheet"
    await s.press("escape")
    assert s.app.panes.said("details").endswith("… | F5")


@staged("lobby", "dev", size=(20, 4))
async def test_a_sheet_of_three_lines_has_a_title_and_two_lines_of_text(s: Stage) -> None:
    await s.press("f1")
    assert s.lines()[0].startswith("─‹ first steps ›─")  # noqa: RUF001
    assert [line.strip(" ─▆▇█▁▂▃▄▅") for line in s.lines()[1:]] == ["-  Type, and", "press Enter.", ">"]
    await s.press("tab", *"join")
    assert "filter: join_" in s.lines()[0]
    await s.press("escape", "escape", "f3")
    assert s.lines()[0].startswith("─channels─")
    assert s.lines()[1].split() == ["1", "lobby", "alone"]
    await s.press("down", "enter")
    assert s.app.workspace.shown == "dev"


@staged(size=(20, 4))
async def test_what_is_said_leaves_the_last_message_and_the_input_on_the_smallest_screen(s: Stage) -> None:
    await s.enter("good")
    await s.enter("/nothing")
    assert "ann" in s.lines()[0]
    assert s.lines()[2].endswith("…"), "the rest has no room"
    assert s.lines()[3] == "> /nothing"
    s.app.composer.put("")
    await s.press("alt+up", "f6", "r")
    assert "answering ann" in s.hint()
    assert s.lines()[3].startswith("↳")
    await s.press("escape", "escape", "escape")
    await s.press("ctrl+f", *"good")
    await s.until_text("find good")
    await s.until(lambda: s.lines()[2].endswith("1 of 1"), "the number alone")
    await s.press(*"zzz")
    await s.until(lambda: s.lines()[2].endswith("none"), "that there is none")
    assert s.lines()[3].startswith(">")


@staged(size=(20, 4))
async def test_a_long_text_in_the_input_leaves_room_for_the_log(s: Stage) -> None:
    await s.enter("good")
    await s.type("a text that goes on over several lines of it, and ends")
    await s.settle()
    assert "good" in s.text()
    assert "and ends" in " ".join(s.text().split())


@staged(size=(20, 4))
async def test_no_line_of_the_lens_goes_on_below_its_scroll_bar(s: Stage) -> None:
    await s.enter("/matrix")
    words = " ".join(line.strip(" ▆▇█▁▂▃▄▅") for line in s.lines()[1:3])
    assert words.startswith("who is known to hold")


@staged(size=(24, 15))
async def test_the_frame_of_a_sheet_names_the_keys_that_have_room(s: Stage) -> None:
    await s.press("f1")
    frame = next(line for line in s.lines() if line.startswith("╰"))
    assert frame.strip("╰╯─ ") == "Esc closes"
    await s.press(*"never")
    frame = next(line for line in s.lines() if line.startswith("╰"))
    assert frame.strip("╰╯─ ") == "filter: never_"


@staged(size=(20, 4))
async def test_a_banner_has_one_line_on_the_smallest_screen(s: Stage) -> None:
    await s.enter("good")
    await s.enter("/fault loss 20%")
    await s.until(lambda: s.lines()[2] == " ! FAULTS ON: loss…", "the end of what has room")
    await s.press("escape")
    await s.enter("/fault offline")
    await s.until_text("OFFLINE on purp…")
    await s.press("escape")
    assert "FAULTS" not in s.text(), "the log needs the line"
    assert "good" in s.text() or "offline" in s.text()


@staged(size=(60, 15), no_color=True)
async def test_without_colour_a_banner_is_as_wide_as_the_screen(s: Stage) -> None:
    await s.enter("/fault offline")
    await s.until_text("OFFLINE on purpose")
    for strip in s.app.screen._compositor.render_strips():
        if "FAULTS ON" in strip.text or "OFFLINE on" in strip.text:
            assert all(segment.style is not None and segment.style.reverse for segment in strip), strip.text


def test_ctrl_u_and_ctrl_k_empty_a_line_of_several_rows(tmp_path: Path) -> None:
    """They emptied the last row, and Enter sent the rest with what was typed behind it."""
    long = "a line that does not have the room of one row here, and so it takes more than two of them in the input"
    with Terminal(join("lobby"), tmp_path, size=SMALL) as terminal:
        terminal.until_text("message lobby")
        for keys in ("\x15", "\x01\x0b", f"{ESC}[H\x0b", f"{ESC}[H{ESC}[F\x15"):
            terminal.press(long)
            terminal.until_text(f"> {long}")
            terminal.press(f"{keys}short")
            terminal.until_text("> short")
            assert "a line that" not in terminal.text()
            terminal.press("\x15")


@staged(peers=("n" * 50,), size=(100, 24), ascii_only=True)
async def test_with_signs_of_ascii_a_long_name_ends_with_one(s: Stage) -> None:
    """The palette, the head and the details cut it with an ellipsis, whatever `--ascii` said."""
    await s.until_text("2 here")
    s.say("hello", "n" * 50)
    await s.until_text("hello")
    await s.enter("/who")
    await s.until_text("nnn~")
    await s.press("escape", "ctrl+p")
    await s.until_text("person nnn")
    assert s.text().isascii(), [line for line in s.lines() if not line.isascii()]
