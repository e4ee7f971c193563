"""Where details go that no person wants on the screen: a folder for logs and tracebacks."""

from __future__ import annotations

import contextlib
import logging
import os
from io import TextIOWrapper
from pathlib import Path


def log_folder() -> Path:
    """Made if need be, for its owner alone. Raises OSError."""
    import platformdirs

    folder = Path(platformdirs.user_log_dir("sdschat", appauthor=False))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


class _PrivateFile(logging.FileHandler):
    """Made when there is something to write, readable by its owner only."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")


def log_to_file() -> None:
    """Warnings of all libraries into a file: standard error is for sentences to a person."""
    handler: logging.Handler = logging.NullHandler()
    with contextlib.suppress(OSError):
        handler = _PrivateFile(log_folder() / "sdschat.log", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(name)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
