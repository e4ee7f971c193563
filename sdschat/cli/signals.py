"""Signals that end a command."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping


def stopped_by(codes: Mapping[int, int]) -> asyncio.Future[int]:
    """Return a future whose result is the exit code of the first of these signals that comes."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    for number, code in codes.items():
        loop.add_signal_handler(number, stop, code)
    return stopped
