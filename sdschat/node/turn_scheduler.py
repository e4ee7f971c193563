"""When a node saves, sends and tells what is ready: at once, or a moment later where much comes in.

Saving costs a wait for the disk, however much is saved. Under load it is put off by a moment too short to be felt, so
that more is saved at once. Meanwhile the loop is free for others, such as the keys of whoever types: it is so for as
long as it was held by the turn before, on a slow disk too, unless so many wait that the next turn would be long. Where
packets come in faster than that, it is so for longer: what a transaction costs is shared by more of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

BUSY: Final = 8  # messages in one transaction
PAUSE: Final = 0.004  # seconds
LONGER: Final = 4  # times as long as the last turn took, if it saved so many
LONGEST: Final = 0.05  # seconds
KEY: Final = 0.03  # seconds, from a key to what it makes on the screen
MOST: Final = 512  # packets; a transaction has to end
AT_KEYS: Final = 32  # packets, where somebody types


class TurnScheduler:
    """Calls `turn` after something became ready, and after everything that arrives in the same turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, turn: Callable[[], None]) -> None:
        self.due = False
        self.most = MOST  # packets that wait until the turn is not put off any longer
        self._loop = loop
        self._turn = turn
        self._waiting = 0  # packets and other things that became ready since the last turn
        self._put_off: asyncio.TimerHandle | None = None
        self._began = self._ended = self._free_until = 0.0  # on the loop's clock

    def mark_ready(self) -> None:
        self._waiting += 1
        if not self.due:
            self.due = True
            if self._free_until > self._loop.time():
                self._put_off = self._loop.call_at(self._free_until, self._turn)
            else:
                self._loop.call_soon(self._turn)
        elif self._waiting >= self.most and self._put_off is not None:
            self._put_off.cancel()
            self._put_off = None
            self._loop.call_soon(self._turn)

    def favour_input(self) -> None:
        """Take input first, because a key was pressed, unless the last turn was long ago or much waits."""
        self._free_until = max(self._free_until, min(self._loop.time() + KEY, self._ended + LONGEST))
        if self._put_off is not None:
            self._put_off.cancel()
            self._put_off = self._loop.call_at(self._free_until, self._turn)

    def begin(self) -> None:
        """Note that a turn begins, whoever called for it."""
        if self._put_off is not None:
            self._put_off.cancel()
        self.due = False
        self._waiting, self._put_off = 0, None
        self._began = self._loop.time()

    def end(self, messages: int) -> None:
        """Note that a turn is over, and how many messages it saved."""
        self._ended = self._loop.time()
        took = self._ended - self._began
        self._free_until = self._ended + min(LONGEST, max(PAUSE, LONGER * took) if messages >= BUSY else took)
