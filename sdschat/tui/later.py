"""Call a function of the application once, after some time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message_pump import MessagePump


def later(pump: MessagePump, seconds: float, function: Callable[[], object]) -> asyncio.TimerHandle:
    """Call the function after this time, between two messages of `pump`. The handle cancels it.

    Textual's `set_timer` can lose the call: a timer skips beats for which it is late, and this one has a single beat.
    It is late where the machine is busy with others for as long as the delay, at the wrong moment.
    """
    return asyncio.get_running_loop().call_later(seconds, pump.call_next, function)
