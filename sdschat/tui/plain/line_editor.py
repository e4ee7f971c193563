"""The line that is being typed. On a terminal the program edits it, and writes it again below what comes in."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import signal
import termios
from collections.abc import AsyncIterator
from typing import Final, NamedTuple, Protocol, TextIO

from rich.cells import cell_len, split_graphemes

from sdschat.node.stdin import chunk, lines
from sdschat.tui.plain.lines import (
    ESCAPE,
    KEY,
    PASTE,
    PASTE_END,
    TypedLine,
    is_text,
    pasted_text,
    typed_line,
    width_of,
)

_SIMPLE: Final = ("", "dumb", "emacs")  # terminals that cannot clear a line
_AGAIN: Final = 0.1  # seconds: lines that come together have what is half typed below them once
_LONGEST: Final = 65_536  # characters: no message is longer
_ENDLESS: Final = 1 << 30
_TAB: Final = "    "
_BEGUN: Final = re.compile(r"\x1b+(?:O|\[(?:\[|[0-?]*[ -/]*))?\Z|\x9b[0-?]*[ -/]*\Z")  # the rest of a key is to come
_KEY_MOST: Final = 64  # bytes of a key
_ENTER: Final = "\r\n"
_END, _LEFT, _LINE, _WORD = "\x04", "\x7f\b", "\x15", "\x17"  # Ctrl+D, Backspace, Ctrl+U, Ctrl+W
_MARKS_PASTES, _MARKS_NONE = "\x1b[?2004h", "\x1b[?2004l"  # asks the terminal to mark what is pasted, or not to
_REDRAW: Final = "\x0c\x12"  # Ctrl+L, Ctrl+R


class _Place(NamedTuple):
    row: int  # below the first one of the text
    full: bool  # the row has no room for another letter


class LineInput(Protocol):
    """Lines in, and the place where lines of the program are written."""

    def typed(self) -> AsyncIterator[list[TypedLine]]:
        """Yield the lines that were typed, until the input ends."""

    def write(self, text: str) -> None:
        """Write whole lines of the program."""

    def drop(self) -> None:
        """Forget what is half typed, and begin a new line."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class WholeLines:
    """Lines of a pipe, a file, or a terminal that edits them itself and tells nothing of a line before Enter."""

    def __init__(self, descriptor: int, out: TextIO) -> None:
        self._descriptor, self._out = descriptor, out

    async def typed(self) -> AsyncIterator[list[TypedLine]]:
        begun, pasting = "", False
        async for found in lines(self._descriptor):
            whole = []
            for line in found:
                written = line.decode(errors="replace")
                pasting = written.rfind(PASTE) > written.rfind(PASTE_END) or (pasting and PASTE_END not in written)
                typed = typed_line(written)
                text = begun + typed.text
                begun = f"{text}\n" if typed.goes_on or pasting else ""
                if not begun:
                    whole.append(TypedLine(text, typed.keys and not text.strip()))
            yield whole
        if begun.strip():
            yield [TypedLine(begun.rstrip("\n"))]

    def write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()

    def drop(self) -> None:
        self.write("\n")  # the cursor stands behind the ^C of the terminal

    def close(self) -> None: ...


class EditedLine:
    """A line on a terminal, with the keys that a terminal edits lines with, and Alt+Enter."""

    def __init__(self, descriptor: int, out: TextIO) -> None:
        self._descriptor, self._out = descriptor, out
        self._text = ""
        self._shown = True  # the text stands where the cursor is
        self._rest = ""  # of a key
        self._ended = False
        self._missed = False  # a key that does nothing was pressed since the last line
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._timer: asyncio.TimerHandle | None = None
        self._before = termios.tcgetattr(descriptor)
        self._take_keys()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._stop)
        loop.add_signal_handler(signal.SIGCONT, self._go_on)

    async def typed(self) -> AsyncIterator[list[TypedLine]]:
        while not self._ended and (found := await chunk(self._descriptor)):
            whole = self.feed(found)
            if whole:
                yield whole

    def feed(self, read: bytes) -> list[TypedLine]:
        """Take what was read from the terminal. Return the lines that it ends."""
        whole: list[TypedLine] = []
        for key in self._keys(self._decoder.decode(read)):
            self._ended = key == _END and not self._text
            if self._ended:
                break
            line = self._press(key)
            if line is not None:
                whole.append(line)
        self._out.flush()
        return whole

    def write(self, text: str) -> None:
        self._hide()
        self._out.write(text)
        self._out.flush()
        if self._text and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_AGAIN, self._show_now)

    def drop(self) -> None:
        self._show()
        self._text = self._rest = ""
        self.write("^C\n")

    def close(self) -> None:
        if self._text:
            self._show()
            self._text = ""
            self._out.write("\n")
            self._out.flush()
        if self._timer is not None:
            self._timer.cancel()
        for number in (signal.SIGTSTP, signal.SIGCONT):
            asyncio.get_running_loop().remove_signal_handler(number)
        self._give_back()

    # Keys in.

    def _keys(self, text: str) -> list[str]:
        """Return the keys in what was read: a letter, the bytes of a key with a name, or the mark of a paste with all
        that was pasted."""
        text, self._rest = self._rest + text, ""
        begun = _BEGUN.search(text)
        if begun is not None and len(begun[0]) <= _KEY_MOST:
            text, self._rest = text[: begun.start()], begun[0]
        found, at = [], 0
        while at < len(text):
            if text.startswith(PASTE, at):
                end = text.find(PASTE_END, at)
                if end < 0:
                    self._rest = text[at:] + self._rest
                    break
                found.append(text[at:end])
                at = end + len(PASTE_END)
                continue
            named = KEY.match(text, at)
            size = len(named[0]) if named is not None else 2 if text[at] == ESCAPE else 1
            found.append(text[at : at + size])
            at += size
        return found

    def _press(self, key: str) -> TypedLine | None:
        """Take a key. Return the line that it ends; or one without text, for a key that does nothing, or for many lines
        that were pasted."""
        self._show()
        if key.startswith(PASTE):
            return self._paste(pasted_text(key.removeprefix(PASTE)))
        if key in _ENTER:
            self._out.write("\n")
            line, self._text, self._missed = TypedLine(self._text), "", False
            return line
        if key in (ESCAPE + "\r", ESCAPE + "\n"):
            self._add("\n")
        elif key in _LEFT:
            self._erase(len(_last(self._text)))
        elif key == _LINE:
            self._erase(len(self._text))
        elif key == _WORD:
            self._erase(len(self._text) - len(re.sub(r"\S*\s*\Z", "", self._text)))
        elif key in _REDRAW:
            self._hide()
            self._show()
        elif len(key) == 2 and key[0] == ESCAPE and is_text(key[1]):
            self._add(key[1])  # an escape, and then a letter
        elif len(key) == 1 and is_text(key):
            self._add(key)
        elif key != _END and not self._missed:
            self._missed = True
            return TypedLine("", keys=True)
        return None

    def _paste(self, text: str) -> TypedLine | None:
        """Add a text that was pasted: Enter sends it as one message, of how many lines it may be."""
        for letter in text:
            self._add(letter)
        return TypedLine("", pasted=text.count("\n") + 1) if "\n" in text else None

    # The text on the terminal.

    def _add(self, letter: str) -> None:
        if len(self._text) < _LONGEST:
            self._text += letter
            self._out.write(letter.replace("\t", _TAB))

    def _erase(self, letters: int) -> None:
        if not letters:
            return
        gone, left = self._text[-letters:], self._text[:-letters]
        if (
            "\n" not in gone
            and self._place(left).row == self._place(self._text).row
            and not self._place(self._text).full
        ):
            self._text = left
            cells = cell_len(gone.replace("\t", _TAB))
            self._out.write("\b" * cells + " " * cells + "\b" * cells)
        else:
            self._hide()
            self._text = left
            self._show()

    def _hide(self) -> None:
        if self._shown and self._text:
            above = self._place(self._text).row
            self._out.write((f"\x1b[{above}A" if above else "") + "\r\x1b[J")
        self._shown = False

    def _show(self) -> None:
        if not self._shown:
            self._out.write(self._text.replace("\t", _TAB))
        self._shown = True

    def _show_now(self) -> None:
        self._timer = None
        self._show()
        self._out.flush()

    def _place(self, text: str) -> _Place:
        """Return where the cursor stands behind a text."""
        width = width_of(self._out) or _ENDLESS
        row = column = 0
        for number, line in enumerate(text.replace("\t", _TAB).split("\n")):
            row, column = (row + 1 if number else row), 0
            for letter in line:
                cells = cell_len(letter)
                row, column = (row + 1, cells) if column + cells > width else (row, column + cells)
        return _Place(row, column >= width)

    # The terminal.

    def _take_keys(self) -> None:
        modes = termios.tcgetattr(self._descriptor)
        modes[3] &= ~(termios.ICANON | termios.ECHO)
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)
        self._out.write(_MARKS_PASTES)
        self._out.flush()

    def _give_back(self) -> None:
        """Leave the terminal as it was."""
        self._out.write(_MARKS_NONE)
        self._out.flush()
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def _stop(self) -> None:
        """Stop, as Ctrl+Z asks, with the terminal as it was."""
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _go_on(self) -> None:
        self._take_keys()
        self._shown = False
        self._show_now()


def line_input(descriptor: int, out: TextIO) -> LineInput:
    """Return the way to read lines: the program edits them where both ends are a terminal that can clear a line."""
    try:
        terminals = os.isatty(descriptor) and os.isatty(out.fileno())
    except (OSError, ValueError):  # a text in memory
        terminals = False
    if terminals and os.environ.get("TERM", "") not in _SIMPLE and _in_front(descriptor):
        return EditedLine(descriptor, out)
    return WholeLines(descriptor, out)


def _in_front(descriptor: int) -> bool:
    """True unless the program runs in the background of its terminal, where changing its modes stops it."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # a terminal that is not ours to be in the background of
        return True


def _last(text: str) -> str:
    """Return the last letter as one sees it."""
    if text[-1:] in ("\n", "\t"):
        return text[-1]
    spans = split_graphemes(text[-64:])[0]
    return text[-64:][spans[-1][0] :] if spans else ""
