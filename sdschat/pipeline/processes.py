"""The same work on several processors, without starting a program anew for it."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Other(NamedTuple):
    pid: int
    answer: BinaryIO


def side_by_side(work: Callable[[Sequence[T]], R], portions: Sequence[Sequence[T]]) -> list[R]:
    """`work` of each portion; of the first here, of each other in a copy of this process, as long as these can be made.
    What a copy does not come to the end of, for whatever reason, is done here."""
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
    """On which this process may run; one where processes cannot be copied safely."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


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
    finally:  # whatever happened: nothing of what the first process has begun is to be ended twice
        os._exit(code)


def _answer(other: _Other | None) -> bytes:
    if other is None:
        return b""
    with other.answer:
        return other.answer.read()


def _end(other: _Other) -> bool:
    """Whether it did all of it. One that is still at work, because nobody wants the answer any more, is killed."""
    whole = other.answer.closed
    other.answer.close()
    if not whole:
        os.kill(other.pid, signal.SIGKILL)
    return os.waitpid(other.pid, 0)[1] == 0
