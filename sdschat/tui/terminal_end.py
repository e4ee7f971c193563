"""A terminal that goes away while the program is on it: its window was closed, or the connection to it ended.

Textual writes from a thread that ends with the first error. Once thirty writes are queued, the next writer waits for
that thread for ever: the process stayed, with its profile locked and with the broker that others use. A terminal that
hangs up sends SIGCONT as well as SIGHUP; Textual then sets the terminal up again, and thirty writes are reached.
"""

from __future__ import annotations

import contextlib
from typing import IO, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class Outlasting:
    """A file whose terminal may be gone. Writes are dropped then."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class OutlastingDriver(LinuxDriver):
    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file: Any = Outlasting(self._file)
