"""The terminal that a command draws on, and standard streams that were closed before the start."""

from __future__ import annotations

import os
import sys

from sdschat.cli.errors import WRONG_USE, CommandProblem

_LAST_STANDARD = 2  # the number of standard error


def require_screen(otherwise: str) -> None:
    """Make sure that there is a terminal to draw on. Raises CommandProblem, with the text `otherwise`, if not.

    Textual draws on standard error, which users redirect into a file to keep error messages. Then Textual draws on the
    terminal of standard output, and error messages still go to the file.
    """
    if "TEXTUAL_DRIVER" in os.environ:
        return  # a server connects the pipes of this program with a browser
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise CommandProblem(otherwise, WRONG_USE)
    if sys.stderr is None or not sys.stderr.isatty():
        terminal = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        sys.__stderr__ = terminal  # type: ignore[misc]


def reserve_closed() -> None:
    """Open the null device in place of each closed standard stream. Otherwise the next file or connection would get
    its number, and messages to the user would be printed into it."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD:
        pass
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
