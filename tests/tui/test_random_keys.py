"""Keys in any order, and faster than the screen: seeds of the random ones, and those that once ended the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.processes import command
from tests.needs import needs_module
from tests.transport.worlds import free_port
from tests.tui.random_keys import go, program
from tests.tui.terminal import Terminal

F1, F2, F3, F4 = "\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS"
SHIFT_F9 = "\x1b[20;2~"
CTRL_C, CTRL_F, CTRL_P = "\x03", "\x06", "\x10"
ASKS = "a channel, person, message"  # the palette


def chat() -> list[str]:
    return command("join", "lobby", "dev", "--name", "ann", "--set", f"embedded.port={free_port()}")


@pytest.mark.parametrize("screen", ["chat", "theatre"])
def test_random_keys_end_nothing(tmp_path: Path, screen: str) -> None:
    needs_module("iotcore")
    go(screen, 5, tmp_path, 60)


@pytest.mark.parametrize(
    ("key", "shown", "does"),
    [(F3, "/join CHANNEL opens another one", "Enter shows it"), (F4, " you ", "Enter writes to them alone")],
)
def test_a_list_opens_over_a_further_page_of_help(tmp_path: Path, key: str, shown: str, does: str) -> None:
    with Terminal(chat(), tmp_path, size=(70, 20)) as terminal:
        terminal.until_text("F1 help")
        terminal.press(f"{F1}\t")
        terminal.until_text("begins a new line")
        terminal.press(key)
        terminal.until_text(shown, does)


def test_the_palette_takes_enter_once_however_often_it_is_pressed(tmp_path: Path) -> None:
    with Terminal(chat(), tmp_path) as terminal:
        terminal.until_text("F1 help")
        terminal.press(CTRL_P)
        terminal.until_text(ASKS, "channel dev")
        terminal.press("\r\r\r")
        terminal.until(lambda: terminal.text().startswith(" dev ") and ASKS not in terminal.text(), "dev is not shown")
        terminal.press("goes on\r")
        terminal.until_text("goes on")


def test_the_palette_opens_again_before_the_last_one_is_gone(tmp_path: Path) -> None:
    with Terminal(chat(), tmp_path) as terminal:
        terminal.until_text("F1 help")
        for _ in range(10):
            terminal.press(f"{CTRL_P}\x1b[27u")  # Esc, as the protocol of kitty writes it
        terminal.press(CTRL_P)
        terminal.until_text(ASKS)


def test_a_long_paste_is_taken_back(tmp_path: Path) -> None:
    """The scroll bar went before the cursor was in the text that was left."""
    with Terminal(chat(), tmp_path) as terminal:
        terminal.until_text("F1 help")
        lines = "".join(f"line {number}\n" for number in range(12))
        terminal.press(f"before \x1b[200~{lines}\x1b[201~")
        terminal.until_text("line 11")
        terminal.press("\x1a")
        terminal.until_text("> before │")
        terminal.press("\x19")
        terminal.until_text("line 11")


def test_the_keys_of_the_chat_do_nothing_behind_the_palette(tmp_path: Path) -> None:
    with Terminal(chat(), tmp_path) as terminal:
        terminal.until_text("F1 help")
        terminal.press(f"{CTRL_P}{CTRL_F}{F1}")
        terminal.until_text(ASKS)
        terminal.escape()
        terminal.until(lambda: ASKS not in terminal.text(), "the palette stays")
        assert "Tab next page" not in terminal.text()
        terminal.press(f"{CTRL_P}{CTRL_C}{CTRL_C}")
        assert terminal.wait() == 0


def test_keys_before_there_is_a_screen_and_after_it_end_nothing(tmp_path: Path) -> None:
    """A step back makes the screen anew."""
    with Terminal(program("replay", tmp_path), tmp_path) as terminal:
        terminal.until_text("F8")
        for _ in range(8):
            terminal.press(f"{SHIFT_F9}{F2}{CTRL_P}\x1b[27u {F2}")
            terminal.read(0.3)
        terminal.until_text("F8")
        terminal.press(f"{SHIFT_F9}\x1b[27u   {CTRL_C}{CTRL_C}")
        while terminal.process.poll() is None:
            terminal.press(CTRL_C)
            terminal.read()
        assert terminal.wait() == 0


def test_a_click_beside_a_palette_that_is_small_by_then_is_no_error(tmp_path: Path) -> None:
    with Terminal(chat(), tmp_path) as terminal:
        terminal.until_text("F1 help")
        terminal.press(CTRL_P)
        terminal.until_text(ASKS)
        terminal.resize(20, 5)
        terminal.read(0.5)
        terminal.press("\x1b[<0;60;28M\x1b[<0;60;28m")
        terminal.resize(100, 30)
        terminal.press(f"{CTRL_P}x")
        terminal.until_text("F1 help")


def test_pages_of_the_palette_turn_where_it_has_no_room(tmp_path: Path) -> None:
    with Terminal(chat(), tmp_path) as terminal:
        terminal.until_text("F1 help")
        terminal.resize(1, 1)
        terminal.press(f"{CTRL_P}\x1b[B\x1b[6~\x1b[5~")
        terminal.resize(100, 30)
        terminal.until_text(ASKS)
