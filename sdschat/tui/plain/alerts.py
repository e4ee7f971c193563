"""The bell and notifications line by line, where nothing tells whether another window has the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from sdschat.tui.host import Host

if TYPE_CHECKING:
    from sdschat.tui.notifier import Notifier


class Alerts:
    """Rings on a terminal, and runs the user's command, for each message that is to the user."""

    def __init__(self, host: Host, out: TextIO, write: Callable[[str], object]) -> None:
        self._host, self._out, self._write = host, out, write
        self._notifier: Notifier | None = None  # from the first notification on

    def tell(self) -> None:
        """Tell of what came since this was last called."""
        desktop, wanted = self._host.desktop, self._host.preferences
        if desktop.take_ring() and wanted.bell and self._out.isatty():
            self._write("\a")
        calls = desktop.take_calls()
        if not calls:
            return
        if self._notifier is None:
            from sdschat.tui.notifier import Notifier

            form = "off" if wanted.notify_terminal == "auto" else wanted.notify_terminal
            self._notifier = Notifier(form, wanted.notify_command, self._write, self._host.warn)
        self._notifier.tell_all(calls, desktop.models, self._host.label)
