"""The draft in an editor, in a real terminal."""

from __future__ import annotations

import asyncio
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sdschat.tui.editor import draft_file, edited, editor_of
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import day
from tests.cli.processes import command
from tests.transport.worlds import free_port
from tests.tui.stage import Stage, staged
from tests.tui.terminal import Terminal

EDITOR = """
import pathlib, sys
path = pathlib.Path(sys.argv[-1])
print("editing:", path.read_text(), flush=True)
line = input()
if line == "fail":
    sys.exit(3)
path.write_text(path.read_text() + line + "\\nand more\\n")
"""


def test_the_draft_goes_to_the_editor_and_comes_back(tmp_path: Path) -> None:
    program = tmp_path / "editor.py"
    program.write_text(EDITOR)
    env = {"VISUAL": shlex.join([sys.executable, str(program)]), "EDITOR": "/nowhere/else"}
    options = ("--name", "ann", "--timing", "demo", "--set", f"embedded.port={free_port()}")
    with Terminal(command("join", "lobby", *options), tmp_path, env=env) as terminal:
        terminal.until_text("hosting the broker")
        terminal.press("a draft\x18\x05")
        terminal.until_text("editing: a draft")
        terminal.enter(" goes on")
        terminal.until_text("> a draft goes on", "and more")
        terminal.enter("")
        terminal.until_text("and more ⇡ unacked")
        terminal.press("kept\x1be")
        terminal.until_text("editing: kept")
        terminal.enter("fail")
        terminal.until_text("ended with error 3. The draft is as it was.", "> kept")
        terminal.press("\x03")
        terminal.until_text("Once more to leave")
        terminal.press("\x03")
        assert terminal.wait() == 0
        assert terminal.restored()


def test_an_editor_that_leaves_no_file_is_told_of_as_such() -> None:
    no_text = pytest.raises(CommandError, match=r"The editor rm left no text\. The draft is as it was\.")
    with draft_file("a draft") as path, no_text:
        asyncio.run(edited(["rm"], path))


def test_what_an_editor_leaves_is_cleaned_as_a_paste_is(tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.write_bytes("one\r\n\x1b[31mtwo\x07\ttab\x85\n\n".encode())
    with draft_file("") as path:
        assert asyncio.run(edited(["cp", str(left)], path)) == "one\ntwo\ttab"


def test_visual_comes_before_editor_and_none_is_said_in_a_line() -> None:
    assert editor_of({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_of({"VISUAL": " ", "EDITOR": "vi"}) == ["vi"]
    with pytest.raises(CommandError, match="No editor is set"):
        editor_of({})
    with pytest.raises(CommandError, match="EDITOR cannot be read"):
        editor_of({"EDITOR": "vi 'half"})


@staged()
async def test_without_an_editor_the_draft_stays(s: Stage) -> None:
    await s.type("a draft")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.environ", {})
        await s.press("alt+e")
        assert "No editor is set" in s.hint()
        patch.setattr("os.environ", {"EDITOR": "/nowhere/vi"})
        await s.press("ctrl+x", "ctrl+e")
    assert "cannot be handed to an editor" in s.hint()
    assert s.app.composer.text == "a draft"
    await s.enter_instead("/editor a text")
    assert s.app.composer.text == "/editor a text"


@staged()
async def test_ctrl_x_still_cuts_what_is_marked(s: Stage) -> None:
    await s.type("cut me")
    s.app.composer.select_all()
    await s.press("ctrl+x")
    assert s.app.composer.text == ""
    assert s.app.clipboard == "cut me"


@staged(size=(100, 24), peers=("bob",))
async def test_the_chain_of_answers_is_a_list_to_jump_from(s: Stage) -> None:
    first = s.say("who has the keys?")
    await s.until_text("who has the keys?")
    for number in range(40):
        s.app.node.send("lobby", f"between {number}")
    answer = s.app.node.send("lobby", "dave has", reply_to=first).message_id
    s.app.node.send("lobby", "ask him at noon", reply_to=answer)
    await s.settle()
    await s.enter("/thread")
    assert "No message is selected" in s.hint()
    s.app.composer.put("")
    await s.press("alt+up", "f6", "t")
    assert "thread: 3 messages" in s.text()
    lines = [line for line in s.lines() if "who has the keys?" in line or "    ann: ask" in line or "dave has" in line]
    assert len(lines) >= 2
    await s.press("escape")
    model, entry = s.app.model, s.app.model.timeline.entries[first]
    before = 3 * 86_400_000
    model.timeline.entries[first] = replace(entry, key=(entry.key[0] - before, first))
    s.app.composer.focus()
    await s.settle()
    await s.enter(f"/thread {first[:12]}")
    page = s.app.sheet.page
    assert page is not None
    assert page.lines[0].startswith(day(entry.at - before)), "that of another day has its date"
    assert day(entry.at) not in page.lines[1]
    await s.press("enter")
    assert s.app.selection == first
    assert any("who has the keys?" in line for line in s.log())
    await s.press("escape")
    await s.enter("/end")
    await s.press("alt+up", "f6", "p")
    assert s.app.selection == answer
    await s.press("p", "f6")
    await s.enter("/original")
    assert s.app.selection == first
    assert "answers no other one" in s.hint()
