"""Faster work on many rows: in copies of this process, and without Python's cyclic garbage collector."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Other(NamedTuple):
    pid: int
    answer: BinaryIO


def side_by_side(work: Callable[[Sequence[T]], R], portions: Sequence[Sequence[T]]) -> list[R]:
    """Return the result of `work` for each portion.

    The first portion is done here, each other one in a copy of this process, if copies can be made. A portion that a
    copy does not finish, for any reason, is done here.
    """
    others = [_start(work, portion) for portion in portions[1:]]
    try:
        here = [work(portion) for portion in portions[:1]]
        answers = [_answer(other) for other in others]
    finally:
        ended = [other is not None and _end(other) for other in others]
    for portion, answer, well in zip(portions[1:], answers, ended, strict=True):
        here.append(pickle.loads(answer) if answer and well else work(portion))
    return here


def processors() -> int:
    """Return the number of processors for this process; 1 where a process cannot be copied safely."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def half_of_memory(most: int, unknown: int) -> int:
    """Return half of the machine's memory in bytes, at most `most`; `unknown` where nobody tells how much it has."""
    try:
        return min(most, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    except (AttributeError, ValueError, OSError):
        return unknown


def _start(work: Callable[[Sequence[T]], R], portion: Sequence[T]) -> _Other | None:
    reader, writer = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return None
    if pid:
        os.close(writer)
        return _Other(pid, os.fdopen(reader, "rb"))
    code = 1
    try:
        done = pickle.dumps(work(portion), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(writer, "wb") as answer:
            answer.write(done)
        code = 0
    finally:  # in any case: a copy must not run the clean-up of the first process a second time
        os._exit(code)


def _answer(other: _Other | None) -> bytes:
    if other is None:
        return b""
    with other.answer:
        return other.answer.read()


def _end(other: _Other) -> bool:
    """End a copy. True if it finished its work. A copy whose answer nobody wants any more is killed."""
    whole = other.answer.closed
    other.answer.close()
    if not whole:
        os.kill(other.pid, signal.SIGKILL)
    return os.waitpid(other.pid, 0)[1] == 0


@contextmanager
def no_collection() -> Iterator[None]:
    """Switch the collector off. Plain rows and columns have no cycles, and the search takes 20 to 33 % of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
