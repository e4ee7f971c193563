"""The terminal that a command draws on, and standard streams that were closed before the start, or do not take every
letter."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Mapping
from typing import Final

from sdschat.cli.errors import WRONG_USE, CommandProblem

_LAST_STANDARD = 2  # the number of standard error
_IN_ASCII: Final = {"…": "...", "—": "-", "–": "-", "→": "->", "←": "<-", "×": "x", "·": "."}  # noqa: RUF001
_SET_BY_PYTHON: Final = ("C.UTF-8", "C.utf8", "UTF-8")  # in place of the locale C
_NOTHING: Final = "\u2066\u2068\u2069"  # around a text that goes from right to left
_IN_LINES, _IN_CELLS = "sdschat-lines", "sdschat-cells"  # the names of the ways below


def require_screen(otherwise: str) -> None:
    """Make sure that there is a terminal to draw on. Raises CommandProblem, with the text `otherwise`, if not.

    Textual draws on standard error, which users redirect into a file to keep error messages. Then Textual draws on the
    terminal of standard output, and error messages still go to the file.
    """
    if "TEXTUAL_DRIVER" in os.environ:
        return  # a server connects the pipes of this program with a browser
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise CommandProblem(otherwise, WRONG_USE)
    if os.environ.get("TERM") == "dumb":
        raise CommandProblem(f"This terminal draws no screen: TERM is dumb. {otherwise}", WRONG_USE)
    if sys.stderr is None or not sys.stderr.isatty():
        terminal = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding)
        sys.__stderr__ = terminal  # type: ignore[misc]
    _take_all_letters(sys.__stderr__, _IN_CELLS)


def has_signs() -> bool:
    """True if the terminal that the screen is drawn on takes other signs than those of ASCII, by its encoding and by
    the locale."""
    if "TEXTUAL_DRIVER" in os.environ:
        return True
    drawn_on = sys.__stderr__
    return not _is_ascii_locale(os.environ) and (drawn_on is None or _is_unicode(drawn_on.encoding))


def _is_ascii_locale(variables: Mapping[str, str]) -> bool:
    """True if the locale is C because the user said so. Python takes UTF-8 there, and sets LC_CTYPE itself."""
    letters = variables.get("LC_CTYPE", "")
    chosen = variables.get("LC_ALL") or (letters if letters not in _SET_BY_PYTHON else "") or variables.get("LANG", "")
    return chosen in ("C", "POSIX")


def take_all_letters() -> None:
    """Let standard streams write what their encoding has no letter for: the text of a message could end a command."""
    for stream in (sys.stdout, sys.stderr):
        _take_all_letters(stream, _IN_LINES)


def _take_all_letters(stream: object, way: str) -> None:
    if isinstance(stream, io.TextIOWrapper) and not _is_unicode(stream.encoding):
        codecs.register_error(way, _for_cells if way == _IN_CELLS else _for_lines)
        stream.reconfigure(errors=way)


def _is_unicode(encoding: str) -> bool:
    return codecs.lookup(encoding).name.startswith(("utf-", "utf_"))


def _for_lines(error: UnicodeError) -> tuple[str, int]:
    """Write signs of ours in ASCII, and any other letter as its number."""
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    shown = (_IN_ASCII.get(letter, f"\\u{{{ord(letter):x}}}") for letter in letters if letter not in _NOTHING)
    return "".join(shown), error.end


def _for_cells(error: UnicodeError) -> tuple[str, int]:
    """Write a question mark for each cell, so that what stands beside it stays in its column."""
    from rich.cells import cell_len

    assert isinstance(error, UnicodeEncodeError)
    return "?" * cell_len(error.object[error.start : error.end]), error.end


def reserve_closed() -> None:
    """Open the null device in place of each closed standard stream. Otherwise the next file or connection would get
    its number, and messages to the user would be printed into it."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD:
        pass
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
