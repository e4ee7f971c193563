"""Ctrl+C while Spark runs: as in any other program, and without what its client has to say about it."""

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
    """Spark's client puts a handler of its own in place, which talks to Java in the midst of whatever was being said
    to it, and so breaks the connection. Whoever is interrupted ends, and Spark with it."""
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
    """What Spark's client logs in this process, tracebacks of broken connections above all, is for the file too."""
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
    """For what runs until somebody has seen enough: Ctrl+C is not raised wherever we are, but noted. Twice is meant."""
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
