"""Spark's words: what it says on standard error goes to a file; its errors as one line; and Ctrl+C."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_RAISED: Final = re.compile(
    r"""(?:: |Caused by: |Exception in thread "[^"]*" )?\s*([A-Za-z_][\w.$]*(?:Error|Exception|Problem): .*)"""
)
_LONGEST: Final = 400
_LINES: Final = 3
_OF_SPARK: Final = frozenset({"py4j", "pyspark", "grpc"})


def is_of_spark(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _OF_SPARK for kind in type(error).__mro__)


def reason(told: str) -> str:
    """Return the last error in the text, in one line."""
    return _in_a_line(raised(told) or told.split("Traceback")[0])


def raised(told: str) -> str:
    """Return the last error with its name, as it stands in the text; empty if there is none."""
    found = [match[1] for match in map(_RAISED.match, told.splitlines()) if match]
    return found[-1] if found else ""


def last_words(told: str) -> str:
    """Return the last error in the output of a program that has ended, else its last lines."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    return _in_a_line(raised(told) or " | ".join(lines[-_LINES:]))


def _in_a_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST].rstrip(".")


@contextlib.contextmanager
def standard_error_to(log: Path) -> Iterator[None]:
    """Send standard error to the file while processes start that shall keep the file as their standard error."""
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def since(log: Path, place: int) -> str:
    try:
        with log.open("rb") as file:
            file.seek(place)
            return file.read().decode(errors="replace")
    except OSError:
        return ""


@contextlib.contextmanager
def interrupts_kept() -> Iterator[None]:
    """Keep our handler of Ctrl+C: Spark's talks to Java in the middle of another conversation."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
