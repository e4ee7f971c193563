"""Symbols of several characters: what stands behind them is in its column, whatever cells a terminal gives to them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pyte
import pytest
from rich.cells import cell_len

from sdschat.tui.model.words import in_their_cells
from tests.needs import needs_program

SYMBOLS = {
    "heart": "\u2764\ufe0f",
    "keycap": "1\ufe0f\u20e3",
    "flag": "\U0001f1f3\U0001f1f4",
    "tone of skin": "\U0001f44d\U0001f3fd",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "rainbow flag": "\U0001f3f3\ufe0f\u200d\U0001f308",
    "astronaut": "\U0001f469\U0001f3fd\u200d\U0001f680",
    "new": "\U0001fae8",
}
_ROWS = [*SYMBOLS.values(), "".join(SYMBOLS.values())]


@pytest.mark.parametrize("of_each", [1, 2], ids=["narrow", "wide"])
@pytest.mark.parametrize("symbol", SYMBOLS.values(), ids=SYMBOLS)
def test_what_follows_a_symbol_is_in_its_column(symbol: str, of_each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ticks at the right of a message, and the frame behind them, moved."""
    monkeypatch.setattr("pyte.screens.wcwidth", lambda letter: 1 if letter.isascii() else of_each)
    screen = pyte.Screen(40, 1)
    stream = pyte.Stream(screen)
    stream.feed("x" * 40 + "\r")
    stream.feed(in_their_cells(f"a{symbol}|"))
    assert screen.cursor.x == 2 + cell_len(symbol)
    assert screen.buffer[0][1 + cell_len(symbol)].data == "|"
    assert all(screen.buffer[0][1 + at].data != "x" for at in range(cell_len(symbol)))


@pytest.mark.parametrize("text", ["plain", "\u2764 5", "\u25cf\u25d0\u25cb 1/3", "\u0915\u094d\u0937\u093f", "9 #"])
def test_other_text_is_written_as_it_is(text: str) -> None:
    assert in_their_cells(text) == text


def test_in_tmux_as_well(tmp_path: Path) -> None:
    program = needs_program("tmux")
    text = "".join(f"\x1b[{row};1H{in_their_cells(f'a{symbol}|')}" for row, symbol in enumerate(_ROWS, 1))
    (tmp_path / "text").write_text(text)
    tmux = [program, "-S", str(tmp_path / "socket")]
    shown = f"cat {tmp_path / 'text'}; sleep 60"
    subprocess.run([*tmux, "-u", "new-session", "-d", "-x", "60", "-y", "20", shown], check=True)
    try:
        column, deadline = "", time.monotonic() + 20
        expected = str(2 + cell_len(_ROWS[-1]))
        while column != expected and time.monotonic() < deadline:
            asked = [*tmux, "display-message", "-p", "#{cursor_x}"]
            column = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
            time.sleep(0.05)
        assert column == expected
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
