"""Ctrl+C while Spark runs: as in any other program, and without the messages of Spark's client about it."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


@contextlib.contextmanager
def interrupts_kept() -> Iterator[None]:
    """Keep our handler of Ctrl+C.

    Spark's client installs a handler that talks to Java in the middle of another conversation, and so breaks the
    connection. With ours, Ctrl+C ends this process, and Spark with it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def python_logs_to(log: Path) -> Iterator[None]:
    """Write to the file what Spark's client logs in this process, mostly tracebacks of broken connections."""
    handler = logging.FileHandler(log, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


@contextlib.contextmanager
def asked_to_end() -> Iterator[threading.Event]:
    """Record Ctrl+C instead of raising it, for work that runs until the user ends it. A second Ctrl+C is raised."""
    asked = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, note) for number in numbers]
    try:
        yield asked
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
