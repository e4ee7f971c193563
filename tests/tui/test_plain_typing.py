"""Line after line in a real terminal: keys as bytes, Ctrl+C, and lines broken at words."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.tui.plain.lines import folded, typed_line
from tests.tui.terminal import Terminal
from tests.tui.test_terminal_keys import join

F1, UP, CTRL_L, CTRL_R, CTRL_C = "\x1bOP", "\x1b[A", "\x0c", "\x12", "\x03"


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (f"one{UP} two", "one two"),
        (f"{UP}{F1}hello", "hello"),
        (f"{CTRL_L}/why", "/why"),
        ("\x1bhello", "hello"),
        ("caf\u00e9 \U0001f469\u200d\U0001f692\ta", "caf\u00e9 \U0001f469\u200d\U0001f692\ta"),
        ("\x1b[200~pasted\x1b[201~\x9b1;3A\x7f", "pasted"),
        ("2^8 [A OP", "2^8 [A OP"),
    ],
)
def test_keys_are_no_text(typed: str, text: str) -> None:
    assert typed_line(f"{typed}\n") == (text, False, False)


@pytest.mark.parametrize("key", [F1, UP, "\x1b[1;3A", "\x1b\x1b[A", "\x1ba", "\x1b", CTRL_L, "\x1b[15~", f" {F1}{UP} "])
def test_a_line_of_keys_alone_is_known_as_one(key: str) -> None:
    text, keys, goes_on = typed_line(f"{key}\r\n")
    assert (text.strip(), keys, goes_on) == ("", True, False)


def test_an_empty_line_and_alt_enter_are_no_keys_that_are_missed() -> None:
    assert typed_line("\n") == ("", False, False)
    assert typed_line("half\x1b\n") == ("half", False, True)


def test_lines_break_at_words_and_none_of_them_looks_like_another() -> None:
    said = "10:00:00 bob: " + "one two three " * 3 + "\n    * bob is verified and a good deal more"
    lines = folded(said, 30).split("\n")
    assert max(map(len, lines)) <= 30
    assert " ".join(" ".join(lines).split()) == " ".join(said.split())
    assert all(line.startswith("    ") for line in lines[1:])
    link = "https://a.example/" + "x" * 40
    assert f"    {link}" in folded(f"10:00:00 bob: look at {link} now", 30).split("\n")
    assert folded(said, None) == said
    wide = folded("10:00:00 bob: " + "\u4e16\u754c" * 30, 30).split("\n")
    assert len(wide) > 3
    assert all(line.startswith("    ") for line in wide[1:])


def test_no_key_is_sent_and_ctrl_c_leaves_at_the_second_press(tmp_path: Path) -> None:
    with Terminal([*join("lobby"), "--plain"], tmp_path, controlling=True) as terminal:
        terminal.until_text("/help lists the commands")
        terminal.enter(F1)
        terminal.until_text("That was a key, and only lines are read here: nothing was sent.")
        terminal.enter(f"half{UP} a word")
        terminal.until_text("(queued): half a word")
        terminal.enter(f"{CTRL_L}/who")
        terminal.until_text("1 known:")
        assert "looks like a command" not in terminal.text()
        terminal.press(f"hasty{CTRL_R}")
        terminal.until(lambda: terminal.text().count("hasty") == 2, "the terminal writes it again")
        terminal.press(CTRL_C)
        terminal.until_text("Ctrl+C again leaves.")
        terminal.enter("a calm word")
        terminal.until_text("(queued): a calm word")
        terminal.press(CTRL_C)
        terminal.until(lambda: terminal.text().count("Ctrl+C again leaves.") == 2, "it asks again")
        terminal.press(CTRL_C)
        assert terminal.wait() == 0
        assert terminal.written.endswith(b"\n")
        assert "): hasty" not in terminal.text()
        assert b"{1b}" not in terminal.written


def test_a_long_text_breaks_at_words_to_the_width_of_the_terminal(tmp_path: Path) -> None:
    with Terminal([*join("lobby"), "--plain"], tmp_path, size=(40, 40)) as terminal:
        terminal.until_text("/help lists the commands")
        words = " ".join(f"word{number}word" for number in range(12))
        terminal.enter(words)
        terminal.until_text(f"(queued): {words}")
