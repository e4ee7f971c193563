"""Work in copies of this process, without Python's cyclic garbage collector, and by one process alone."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeVar

from sdschat.audit.errors import PipelineProblem

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

T = TypeVar("T")
R = TypeVar("R")
ROWS: Final = 10_000  # rows of a batch
BYTES: Final = 64 << 20  # bytes of packets in a batch


def side_by_side(work: Callable[[Sequence[T]], R], portions: Sequence[Sequence[T]]) -> list[R]:
    """Return the result of `work` for each portion.

    The first portion is done here, each other one in a copy of this process, or here where the copy does not finish.
    """
    with ExitStack() as stack:
        answers = [stack.enter_context(_beside(work, portion)) for portion in portions[1:]]
        found = [work(portion) for portion in portions[:1]]
        for portion, answer in zip(portions[1:], answers, strict=True):
            try:
                found.append(pickle.load(answer))
            except (EOFError, OSError, pickle.UnpicklingError):
                found.append(work(portion))
    return found


@contextmanager
def _beside(work: Callable[[Sequence[T]], R], portion: Sequence[T]) -> Iterator[IO[bytes]]:
    """Work in a copy of this process, which is killed when nobody wants its answer any more."""
    reading, writing = os.pipe()
    with open(reading, "rb") as answer, ExitStack() as stack:
        with open(writing, "wb") as given, suppress(OSError):  # where no copy can be made, there is no answer
            child = os.fork()
            if not child:
                _give(given, work, portion)
            stack.callback(os.waitpid, child, 0)
            stack.callback(os.kill, child, signal.SIGKILL)
        yield answer


def _give(given: IO[bytes], work: Callable[[Sequence[T]], R], portion: Sequence[T]) -> None:
    try:
        pickle.dump(work(portion), given)
        given.flush()
    finally:  # in any case: a copy must not run the clean-up of the first process a second time, nor tell of an error
        os._exit(0)


def end_with_parent(end: Callable[[], object]) -> None:
    """Call this in the process of a pool as soon as its parent has ended, in whatever way."""
    import threading
    from multiprocessing import parent_process

    def wait() -> None:
        parent = parent_process()
        assert parent is not None
        parent.join()
        end()

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def spawned(count: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes that leave Ctrl+C to this one. They end with it, and where an error ends the work."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    others = set(active_children())
    # A fork would share the threads' locks of the libraries that are loaded here.
    with ProcessPoolExecutor(count, get_context("spawn"), _follow_the_parent) as pool:
        try:
            yield pool
        except BaseException:  # the remaining results are not wanted any more
            for process in set(active_children()) - others:
                process.terminate()
            raise


def _follow_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it goes to all processes of a terminal
    end_with_parent(lambda: os._exit(1))


def processors() -> int:
    """Return the number of processors for this process; 1 where a process cannot be copied safely."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def size_of(path: Path) -> int:
    """Return the bytes of a file, none of one that cannot be read: its reader reports that."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def half_of_memory(most: int, unknown: int) -> int:
    """Return half of the machine's memory in bytes, at most `most`; `unknown` where nobody tells how much it has."""
    try:
        return min(most, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    except (AttributeError, ValueError, OSError):
        return unknown


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


class Busy(PipelineProblem):
    """Another process holds the lock."""


@contextmanager
def alone(file: Path, otherwise: str) -> Iterator[None]:
    """Hold a lock on this file meanwhile. Raises Busy, with the text `otherwise`, if another process holds it."""
    lock = _opened(file)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Busy(otherwise) from error
        yield
    finally:
        os.close(lock)


def _opened(file: Path) -> int:
    """Return a descriptor of the file, which is made if it is not there. One who may only read can hold a lock too: on
    the file, or on its folder where there is none, as in a copy of a lake."""
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
    with suppress(FileNotFoundError):
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    return os.open(file.parent, os.O_RDONLY | os.O_CLOEXEC)
