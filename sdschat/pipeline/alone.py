"""One process at a time where two would do the same work twice, and tidy away each other's files."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sdschat.pipeline.problem import PipelineProblem


@contextmanager
def alone(file: Path, otherwise: str) -> Iterator[None]:
    """Hold this file. Raises PipelineProblem, with this text, where somebody else does; a process that ends lets go."""
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PipelineProblem(otherwise) from error
        yield
