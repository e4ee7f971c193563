"""The end of an application by an error: kept until the terminal is restored, and never shown on the screen."""

from __future__ import annotations

import asyncio

from textual.app import App


class Ending(App[int]):
    """An application whose error is raised by those who run it."""

    def fail(self, error: Exception) -> None:
        """End the application because of an error outside of it: `crash` is that error then."""
        self._handle_exception(error)

    @property
    def crash(self) -> Exception | None:
        """The error that ended the application; None if there was none."""
        return self._exception

    def _handle_exception(self, error: Exception) -> None:
        """End the application. The error goes to a file, not to the screen: texts of others may be in it."""
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()


async def end_after(app: Ending, seconds: float | None) -> None:
    """End the application after so many seconds; None: never."""
    if seconds is not None:
        await asyncio.sleep(seconds)
        app.exit(0)
