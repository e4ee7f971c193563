"""The folder for logs and tracebacks: details that do not belong on the screen."""

from __future__ import annotations

import contextlib
import logging
from io import TextIOWrapper
from pathlib import Path

from sdschat.node.files import make_private, open_private


def log_folder() -> Path:
    """Return the folder; make it, for its owner only, if it is missing. Raises OSError."""
    import platformdirs

    folder = Path(platformdirs.user_log_dir("sdschat", appauthor=False))
    make_private(folder)
    return folder


class _PrivateFile(logging.FileHandler):
    """A log file, made with the first record and readable by its owner only."""

    def _open(self) -> TextIOWrapper:
        return open_private(Path(self.baseFilename), "a", errors="backslashreplace")


def log_to_file() -> None:
    """Send warnings of all libraries to a file: standard error is for sentences to the user."""
    handler: logging.Handler = logging.NullHandler()
    with contextlib.suppress(OSError):
        handler = _PrivateFile(log_folder() / "sdschat.log", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(name)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
