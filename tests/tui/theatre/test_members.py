"""`sdschat demo --members` in a real terminal, and as a summary: the three nodes are real."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.processes import run
from tests.needs import needs_module
from tests.tui.terminal import Terminal

RUN = """
import sys
from sdschat.cli.program import run
from sdschat.tui.theatre import members
members.ACTS = tuple(act._replace(pause=act.pause / 8) for act in members.ACTS[:-1])
members.LATER_ACTS = (members.LATER_ACTS[0]._replace(pause=2.0),)
members.cycle = lambda acts: acts
sys.exit(run(["demo", "--members", *sys.argv[1:]]))
"""


def _drawn(terminal: Terminal, text: str) -> None:
    """Wait until a text was on the screen, for however short a time."""
    terminal.until(lambda: text.encode() in terminal.written, f"{text!r} was never drawn")


def test_a_deleted_post_vanishes_and_a_silent_member_is_put_out_and_comes_back(tmp_path: Path) -> None:
    needs_module("iotcore")
    command = [sys.executable, "-c", RUN, "--ascii"]
    with Terminal(command, tmp_path, size=(120, 40)) as terminal:
        _drawn(terminal, "1 member")
        terminal.until_text("knocks. /invite")
        assert "no message is here" not in terminal.text()  # nor that one may, since nobody types here
        assert b"wombat" not in terminal.written, "before anybody wrote it"
        _drawn(terminal, '"wombat" is in 3 of the ')
        _drawn(terminal, '"wombat" is in 0 of the ')
        terminal.until_text("hears nobody")
        terminal.until_text("we wait for her word")
        terminal.until_text("I agree")
        terminal.until_text("was put out")
        terminal.until_text("we go on")
        terminal.until_text("here I am again")
        terminal.until_text("All three have settled the same")
        assert "see you at ten (edited)" in " ".join(terminal.text().split())
        assert all(ord(sign) < 128 for sign in terminal.text())
        terminal.until_text("All three are members from before, and nobody knocks.")
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored()


def test_the_summary_says_that_all_happened(tmp_path: Path) -> None:
    needs_module("iotcore")
    done = run(tmp_path, "demo", "--members", "--headless")
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["files_with_the_word_before"] >= 3
    assert found["files_with_the_word_after"] == 0
    assert (found["members"], found["came_back_once"], found["late"]) == (3, True, [])
    assert found["put_out"] >= 1


@pytest.mark.parametrize("option", [("--theatre",), ("--record", "x"), ("--peers", "3")])
def test_options_of_the_other_demonstrations_are_refused(tmp_path: Path, option: tuple[str, ...]) -> None:
    done = run(tmp_path, "demo", "--members", *option)
    assert done.returncode == 2
    assert "three participants on one screen" in done.stderr
