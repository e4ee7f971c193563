"""Line after line in a real terminal: keys as bytes, Ctrl+C, lines broken at words, and what is half typed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import Awaitable, Callable
from pathlib import Path

import pyte
import pytest

from sdschat.tui.plain.line_editor import EditedLine, WholeLines, line_input
from sdschat.tui.plain.lines import PASTE, PASTE_END, TypedLine, folded, typed_line
from tests.cli.processes import command
from tests.transport.worlds import free_port
from tests.tui.terminal import PATIENCE, Terminal
from tests.tui.test_terminal_keys import join

F1, UP, CTRL_L, CTRL_R, CTRL_C = "\x1bOP", "\x1b[A", "\x0c", "\x12", "\x03"
CTRL_U, CTRL_W, BACK, ESC = "\x15", "\x17", "\x7f", "\x1b"


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
    assert typed_line(f"{typed}\n") == TypedLine(text)


@pytest.mark.parametrize("key", [F1, UP, "\x1b[1;3A", "\x1b\x1b[A", "\x1ba", "\x1b", CTRL_L, "\x1b[15~", f" {F1}{UP} "])
def test_a_line_of_keys_alone_is_known_as_one(key: str) -> None:
    text, keys, goes_on, _ = typed_line(f"{key}\r\n")
    assert (text.strip(), keys, goes_on) == ("", True, False)


def test_an_empty_line_and_alt_enter_are_no_keys_that_are_missed() -> None:
    assert typed_line("\n") == TypedLine("")
    assert typed_line("half\x1b\n") == TypedLine("half", goes_on=True)


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


@pytest.mark.parametrize(("term", "written"), [("dumb", 2), ("xterm-256color", 1)])
def test_no_key_is_sent_and_ctrl_c_leaves_at_the_second_press(tmp_path: Path, term: str, written: int) -> None:
    with Terminal([*join("lobby"), "--plain"], tmp_path, env={"TERM": term}, controlling=True) as terminal:
        terminal.until_text("/help lists the commands")
        terminal.enter(F1)
        terminal.until_text("That was a key, and only lines are read here: nothing was sent.")
        terminal.enter(f"half{UP} a word")
        terminal.until_text(": half a word")
        terminal.enter(f"{CTRL_L}/who")
        terminal.until_text("1 known:")
        assert "looks like a command" not in terminal.text()
        terminal.press(f"hasty{CTRL_R}")
        terminal.until(lambda: terminal.written.count(b"hasty") == 2, "it is written again")
        assert terminal.text().count("hasty") == written
        terminal.press(CTRL_C)
        terminal.until_text("Ctrl+C again leaves.")
        terminal.enter("a calm word")
        terminal.until_text(": a calm word")
        terminal.press(CTRL_C)
        terminal.until(lambda: terminal.text().count("Ctrl+C again leaves.") == 2, "it asks again")
        terminal.press(CTRL_C)
        assert terminal.wait() == 0
        assert terminal.written.removesuffix(b"\x1b[?2004l").endswith(b"\n")
        assert ": hasty" not in terminal.text()
        assert b"{1b}" not in terminal.written


def test_a_long_text_breaks_at_words_to_the_width_of_the_terminal(tmp_path: Path) -> None:
    with Terminal([*join("lobby"), "--plain"], tmp_path, size=(40, 40)) as terminal:
        terminal.until_text("/help lists the commands")
        words = " ".join(f"word{number}word" for number in range(12))
        terminal.enter(words)
        terminal.until_text(f": {words}")


def test_what_is_half_typed_stands_below_a_message_that_comes_in(tmp_path: Path) -> None:
    port = f"embedded.port={free_port()}"
    bob = command("send", "lobby", "from bob", "--name", "bob", "--set", port, "--timing", "demo")
    with Terminal(command("join", "lobby", "--plain", "--name", "ann", "--set", port), tmp_path) as terminal:
        terminal.until_text("/quit leaves.")
        terminal.press("half a wo")
        terminal.until_text("half a wo")
        with Terminal(bob, tmp_path) as other:
            terminal.until_text("from bob", "half a wo")
            other.until(lambda: other.process.poll() is not None, "bob sends")
        terminal.until(lambda: terminal.text().split()[-3:] == ["half", "a", "wo"], "it stands last")
        assert terminal.text().count("half a wo") == 1
        terminal.enter("rd")
        terminal.until_text(": half a word")
        terminal.enter("/quit")
        assert terminal.wait() == 0
        assert terminal.restored_modes()


_END = b"\0"  # nothing writes it


class Typed:
    """A line that is edited on a terminal of 20 columns, and an emulator that shows it."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 20, 0, 0))
        self._out = os.fdopen(slave, "w", encoding="utf-8")
        self.before = termios.tcgetattr(slave)
        self.line = EditedLine(slave, self._out)
        self._screen = pyte.Screen(20, 12)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""

    def press(self, keys: str) -> list[str]:
        return [line.text for line in self.line.feed(keys.encode())]

    def rows(self) -> list[str]:
        """Return the rows of the screen that are not empty."""
        os.write(self._out.fileno(), _END)  # what was written may come later than a look at the terminal
        found = b""
        while not found.endswith(_END):
            found += os.read(self._master, 1 << 16)
        self.raw += found[: -len(_END)]
        self._stream.feed(found[: -len(_END)])
        return [line.rstrip() for line in self._screen.display if line.strip()]

    def modes(self) -> list[object]:
        return termios.tcgetattr(self._out.fileno())

    def close(self) -> None:
        self._out.close()
        os.close(self._master)


def edited(story: Callable[[Typed], Awaitable[None]]) -> None:
    async def told() -> None:
        typed = Typed()
        assert typed.modes() != typed.before
        await story(typed)
        typed.line.close()
        assert typed.modes() == typed.before
        typed.close()

    asyncio.run(told())


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (f"helo{BACK}lo", "hello"),
        (f"one two  {CTRL_W}2", "one 2"),
        (f"one two{CTRL_U}three", "three"),
        (f"caf\u00e9\u0301{BACK}e", "cafe"),
        (f"\U0001f469\u200d\U0001f692{BACK}x", "x"),
        (f"{BACK}{CTRL_W}{CTRL_U}a{UP}b{F1}c\x01\x04d", "abcd"),
        ("one\x1b\rtwo", "one\ntwo"),
        (f"one\x1b\rt{BACK}{BACK} more", "one more"),
        (f"{'x' * 25}{BACK * 10}", "x" * 15),
        (f"{'x' * 20}{BACK}y", "x" * 19 + "y"),
        ("\u4e16" * 12 + BACK * 3, "\u4e16" * 9),
        (f"a\tb{BACK}{BACK}c", "ac"),
    ],
)
def test_a_line_is_edited_and_the_terminal_shows_it_so(keys: str, text: str) -> None:
    async def story(s: Typed) -> None:
        s.line.write("* begun\n")
        for key in [*keys] if ESC not in keys else [keys]:
            s.press(key)
        assert "".join(s.rows()[1:]).replace(" ", "") == text.replace("\n", "").replace(" ", "")
        s.line.write("* come in\n")
        assert s.rows() == ["* begun", "* come in"]
        s.press(CTRL_R)
        assert "".join(s.rows()[2:]).replace(" ", "") == text.replace("\n", "").replace(" ", "")
        assert s.press("\r")[-1:] == [text]

    edited(story)


def test_keys_that_are_read_in_pieces_are_whole_and_one_that_does_nothing_is_told_once() -> None:
    async def story(s: Typed) -> None:
        assert s.press("a\x1b") == []
        assert s.press("[1;") == []
        assert s.line.feed(b"3A") == [typed_line(f"{UP}\n")]
        assert s.line.feed(UP.encode()) == []
        assert s.line.feed("\u00e9".encode()[:1]) == []
        assert s.line.feed("\u00e9\rb\r".encode()[1:]) == [TypedLine("a\u00e9"), TypedLine("b")]
        assert s.press("\x1b") == []
        assert s.press("\r") == []
        assert s.press("two\r") == ["\ntwo"]

    edited(story)


def test_a_paste_of_many_lines_is_one_message_with_its_line_ends(tmp_path: Path) -> None:
    with Terminal([*join("lobby"), "--plain"], tmp_path, size=(100, 40), controlling=True) as terminal:
        terminal.until_text("/help lists the commands")
        terminal.until(lambda: b"\x1b[?2004h" in terminal.written, "the terminal is asked to mark pastes")
        terminal.press(f"see: {PASTE}def f():\r  return 1\r\x1b[31m/quit\r{PASTE_END}")
        terminal.until_text("3 lines were pasted: Enter sends them as one message, Ctrl+U drops them.")
        terminal.enter("")
        terminal.until_text(": see: def f():")
        terminal.until_text("return 1 /quit")
        terminal.press(f"{PASTE}one\ntwo{PASTE_END}{CTRL_U}")
        terminal.enter("/quit")
        assert terminal.wait() == 0
        lines = [line.strip() for line in terminal.written.decode().splitlines()]
        assert not any(line.endswith((": two", ": one", ": return 1")) for line in lines)
        assert b"[200~" not in terminal.written
        assert terminal.written.rfind(b"\x1b[?2004l") > terminal.written.rfind(b"\x1b[?2004h")
        assert terminal.restored_modes()


def test_a_paste_that_comes_in_pieces_is_whole_and_one_line_of_it_is_sent_by_enter_alone() -> None:
    async def story(s: Typed) -> None:
        assert s.press("a\x1b[20") == []
        assert s.press("0~one\r\n\ttwo\x1b[2") == []
        assert s.line.feed(b"01~") == [TypedLine("", pasted=2)]
        assert s.press("!\r") == ["aone\n\ttwo!"]
        assert s.line.feed(f"{PASTE}one\r{PASTE_END}".encode()) == []
        assert s.press("\r") == ["one"]
        s.press(f"{PASTE}never ends")
        s.line.drop()
        assert s.press("b\r") == ["b"]
        assert s.press(f"{PASTE}\u202eevil\u2066{PASTE_END}\r") == ["evil"]

    edited(story)


def test_a_paste_that_a_pipe_or_a_simple_terminal_marks_is_one_message() -> None:
    async def story() -> list[str]:
        reading, writing = os.pipe()
        os.write(writing, f"a {PASTE}one\ntwo\nthree{PASTE_END}\nfour\n".encode())
        os.close(writing)
        with open(os.devnull, "w") as out:
            found = [line.text async for lines in WholeLines(reading, out).typed() for line in lines]
        os.close(reading)
        return found

    assert asyncio.run(story()) == ["a one\ntwo\nthree", "four"]


def test_lines_that_come_together_have_what_is_half_typed_below_them_once() -> None:
    async def story(s: Typed) -> None:
        s.press("half typed")
        s.rows()
        s.raw = b""
        for number in range(5):
            s.line.write(f"* line {number}\n")
        async with asyncio.timeout(PATIENCE):
            while s.rows()[-1] != "half typed":
                await asyncio.sleep(0.01)
        assert s.raw.count(b"half typed") == 1
        assert s.rows() == [*(f"* line {number}" for number in range(5)), "half typed"]
        s.line.drop()
        s.line.write("* after\n")
        assert s.rows()[5:] == ["half typed^C", "* after"]
        assert s.press("\r") == [""]

    edited(story)


def test_a_pipe_and_a_simple_terminal_get_no_key_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    reading, writing = os.pipe()
    with os.fdopen(slave, "w") as terminal, os.fdopen(writing, "w") as pipe:
        monkeypatch.setenv("TERM", "xterm")
        assert isinstance(line_input(slave, pipe), WholeLines)
        assert isinstance(line_input(reading, terminal), WholeLines)
        monkeypatch.setenv("TERM", "dumb")
        assert isinstance(line_input(slave, terminal), WholeLines)
    os.close(master)
    os.close(reading)
