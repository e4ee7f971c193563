"""The terminal that a command draws on, and streams that whoever started us has closed."""

from __future__ import annotations

import os
import sys

from sdschat.cli.errors import WRONG_USE, Problem

_LAST_STANDARD = 2  # the number of standard error


def require_screen(otherwise: str) -> None:
    """For whoever draws on the whole terminal. Raises Problem, with these words, where there is none.

    Textual draws on standard error, which people send to a file to keep what a program complains about; it is made to
    draw where standard output goes, and complaints still go to the file.
    """
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise Problem(otherwise, WRONG_USE)
    if sys.stderr is None or not sys.stderr.isatty():
        terminal = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
        sys.__stderr__ = terminal  # type: ignore[misc]


def reserve_closed() -> None:
    """Where a standard stream is closed, its number would be that of the next file or connection that is opened. And
    what is said to the person would be printed among the results."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD:
        pass
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
