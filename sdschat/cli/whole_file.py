"""Write a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from sdschat.cli.errors import WRONG_USE, CommandProblem


@contextlib.contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[TextIO]:
    """Open a temporary file beside `path`, and rename it to `path` at the end. Raises OSError.

    A symbolic link at `path` is replaced and never followed: what it points to may be a file of somebody else's choice.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is there, and is no file")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as output:
            yield output
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def writable(file: Path) -> Iterator[TextIO]:
    """Open the file to be written whole, readable by its owner only."""
    with contextlib.ExitStack() as stack:
        try:
            output = stack.enter_context(whole_file(file, 0o600))
        except OSError as error:
            raise CommandProblem(
                f"{file} cannot be written: {error.strerror}. Choose another name.", WRONG_USE
            ) from error
        yield output
