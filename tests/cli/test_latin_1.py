"""A terminal and a pipe whose encoding has fewer letters than messages have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.processes import command, run
from tests.transport.worlds import free_port
from tests.tui.terminal import Terminal

LATIN_1 = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}
HEBREW = "\u05e9\u05dc\u05d5\u05dd"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    broker = ("--set", f"embedded.port={free_port()}")
    assert run(tmp_path, "send", "lobby", f"{HEBREW} 12", "--name", "ann", *broker).returncode == 0
    return tmp_path


def test_no_message_ends_a_command_that_cannot_write_its_letters(home: Path) -> None:
    """The history ended with an unexpected failure."""
    done = run(home, "log", "lobby", "--name", "ann", env=LATIN_1)
    assert done.returncode == 0, done
    assert r" ann: \u{5e9}\u{5dc}\u{5d5}\u{5dd} 12 [" in done.stdout


def test_the_chat_draws_ascii_signs_by_itself_and_keeps_its_columns(home: Path) -> None:
    chat = command("join", "lobby", "--name", "ann", "--set", f"embedded.port={free_port()}")
    with Terminal(chat, home, size=(100, 30), env=LATIN_1) as terminal:
        terminal.until_text("lobby * nothing missing | alone here", "???? 12")
        (row,) = (line for line in terminal.text().split("\n") if "???? 12" in line)
        assert row.endswith("|"), "the list beside it stands where it stood"
        terminal.press("\x1bOP")
        terminal.until_text("first steps", "Alt+Enter or Ctrl+J begins a new line")
        assert terminal.text().isascii()
        assert b"\\u2" not in terminal.written


@pytest.mark.parametrize(
    ("said", "is_ascii"),
    [({"LANG": "C"}, True), ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, True), ({"LANG": "C.UTF-8"}, False)],
)
def test_in_the_locale_c_signs_are_ascii(home: Path, said: dict[str, str], is_ascii: bool) -> None:
    """Python takes UTF-8 there, so that the encoding does not tell."""
    chat = command("join", "lobby", "--name", "ann", "--set", f"embedded.port={free_port()}")
    with Terminal(chat, home, env={"LC_ALL": "", "LC_CTYPE": "", **said}) as terminal:
        terminal.until_text("message lobby", "nothing missing", "alone here")
        assert ("\N{BOX DRAWINGS LIGHT HORIZONTAL}" not in terminal.text()) == is_ascii


def test_line_after_line_every_letter_is_written_in_some_way(home: Path) -> None:
    chat = command("join", "lobby", "--plain", "--name", "ann", "--set", f"embedded.port={free_port()}")
    with Terminal(chat, home, env=LATIN_1) as terminal:
        terminal.until_text(r"\u{5e9}\u{5dc}\u{5d5}\u{5dd} 12", "/help lists the commands")
        terminal.enter("/quit")
        assert terminal.wait() == 0
    assert b"u{2068}" not in terminal.written
