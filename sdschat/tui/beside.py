"""Run an application together with what plays beside it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from sdschat.node.tasks import start
from sdschat.tui.terminal import Ending


async def run_beside(app: Ending, *beside: Coroutine[Any, Any, object]) -> int:
    """Run the application until it ends, and return its exit code; SIGTERM and SIGHUP end it. What runs beside it is
    ended with it, and ends it by an error. Raises the error that ended it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, app.exit, 128 + number, 128 + number)
    tasks = [start(one, app.fail) for one in beside]
    try:
        await app.run_async()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0


async def end_after(app: Ending, seconds: float | None) -> None:
    """End the application after so many seconds; None: never."""
    if seconds is not None:
        await asyncio.sleep(seconds)
        app.exit(0)
