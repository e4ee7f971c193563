"""A disk that is full: what one writes stays in the input, and what was taken before is named to whoever leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.store.errors import DiskFull
from sdschat.store.transaction import Transaction
from tests.tui.stage import Stage, staged


@pytest.fixture(autouse=True)
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Transaction.write
    _FULL[0] = False

    def sometimes(self: Transaction, connection: object) -> None:
        if _FULL[0]:
            raise DiskFull(tmp_path)
        write(self, connection)  # type: ignore[arg-type]

    monkeypatch.setattr(Transaction, "write", sometimes)
    monkeypatch.setattr("sdschat.node.node.RETRY", 0.05)


_FULL = [False]


async def fill(s: Stage) -> None:
    """Let ann's line be the first that finds the disk full."""
    _FULL[0] = True
    s.app.send("found it full")
    await s.until_text("nothing can be saved")


@staged()
async def test_the_head_says_that_nothing_can_be_saved(s: Stage) -> None:
    await fill(s)
    assert "cannot save" in s.lines()[0]
    assert "nothing missing" not in s.lines()[0]
    _FULL[0] = False
    await s.until_text("saving works again")
    assert "cannot save" not in s.lines()[0]


@staged()
async def test_a_line_that_cannot_be_saved_stays_in_the_input(s: Stage) -> None:
    await fill(s)
    await s.enter("still here")
    assert "Not sent: nothing can be saved, because the disk is full" in s.hint()
    assert s.app.composer.text == "still here"
    _FULL[0] = False
    await s.until_text("saving works again")
    await s.press("enter")
    await s.until(lambda: [e.text for e in s.app.model.timeline.messages()] == ["found it full", "still here"])


@staged()
async def test_who_leaves_reads_what_could_not_be_saved(s: Stage) -> None:
    await fill(s)
    assert s.app.workspace.unsent_words() == "1 message could not be saved, and nobody has it: found it full"
    await s.press("ctrl+c")
    assert "could not be saved" in s.hint()
    assert "nobody has confirmed" not in s.hint()
    _FULL[0] = False


@staged(peers=("bob",), syncs=True)
async def test_a_command_that_cannot_be_saved_is_refused_and_stays_in_the_input(s: Stage) -> None:
    """It ended the program, and what was written before was lost with it."""
    await s.until(lambda: bool(s.app.node.sessions["lobby"].presence.keys))
    await fill(s)
    for line in ("/create garden private", "/mute bob"):
        await s.enter_instead(line)
        assert "Not done: nothing can be saved, because the disk is full" in s.hint()
        assert s.app.composer.text == line
    assert not s.app.node.gate.is_muted(s.peers["bob"].node.sender_id)
    _FULL[0] = False
    await s.until_text("saving works again")
    await s.press("enter")
    await s.until(lambda: s.app.node.gate.is_muted(s.peers["bob"].node.sender_id))
