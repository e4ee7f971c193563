"""A lock for work that only one process may do at a time: two would repeat the work and remove each other's files."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sdschat.audit.problem import PipelineProblem


@contextmanager
def alone(file: Path, otherwise: str) -> Iterator[None]:
    """Hold a lock on this file. Raises PipelineProblem with this text if another process holds it.

    The lock of a process ends with the process.
    """
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PipelineProblem(otherwise) from error
        yield
