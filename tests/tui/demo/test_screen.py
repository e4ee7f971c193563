"""`sdschat demo` in a terminal: the script begins when the channel is connected, and errors are shown."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.needs import needs_module
from tests.tui.terminal import Terminal

RUN = """
import sys
from sdschat.cli.program import run
{planted}
sys.exit(run(["demo", *sys.argv[1:]]))
"""
# Channels are joined in a step of the loop that comes seconds after the first frame, as on a busy machine.
LATE = """
from sdschat.tui.startup import Startup
begin = Startup.begin
def late(self):
    Startup.begin = begin
    self._soon(2.0, self._go_on)
Startup.begin = late
"""
BROKEN = """
from sdschat.tui.demo import director
def broken():
    yield next(whole())
    raise RuntimeError("a planted error")
whole, director.acts = director.acts, broken
"""
FAILING = """
from sdschat.tui.demo.director import Director
async def failing(self, seconds=None):
    self.group.nodes["bob"].fail(RuntimeError("a planted error"))
Director.play = failing
"""


def demo(planted: str, *options: str) -> list[str]:
    return [sys.executable, "-c", RUN.format(planted=planted), *options]


def test_the_script_waits_for_the_channel(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(demo(LATE), tmp_path) as terminal:
        terminal.until_text("hello, all")
        terminal.enter("/quit")
        assert terminal.wait() == 0


def test_each_line_of_the_watcher_is_answered_in_other_words(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(demo("", "--loss", "0"), tmp_path) as terminal:
        terminal.until_text("I am watching", "The demonstration wrote this line for you")
        terminal.enter("may I write?")
        terminal.until_text("got it, guest")
        terminal.enter("and again?")
        terminal.until_text("me too, guest")
        terminal.enter("/quit")
        assert terminal.wait() == 0


def test_it_ends_after_so_many_seconds_even_if_that_is_before_anything(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(demo(LATE, "--seconds", "1"), tmp_path) as terminal:
        assert terminal.wait() == 0
        assert terminal.restored()


def ends_with_its_error(terminal: Terminal, home: Path) -> None:
    assert terminal.wait() == 1
    assert terminal.restored()
    after = bytes(terminal.written).rpartition(b"\x1b[?1049l")[2].decode()
    assert "unexpected failure: RuntimeError: a planted error" in after
    assert "Traceback" not in after
    (report,) = home.rglob("failure-*.txt")
    assert "a planted error" in report.read_text()


def test_a_script_that_fails_ends_the_program_with_its_error(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(demo(BROKEN), tmp_path) as terminal:
        ends_with_its_error(terminal, tmp_path)


def test_a_node_that_fails_ends_the_program_with_its_error(tmp_path: Path) -> None:
    needs_module("iotcore")
    with Terminal(demo(FAILING), tmp_path) as terminal:
        ends_with_its_error(terminal, tmp_path)
