"""The player of the script: it can be paused, and taken one act further."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from typing import Final

from sdschat.node.tasks import start
from sdschat.tui.theatre.group import TheatreGroup
from sdschat.tui.theatre.script import ACTS, Deed, TheatreAct

_PATIENCE: Final = 15.0  # seconds in which logs may become equal before the script goes on
_LOOK: Final = 0.2


class ScriptPace:
    """The pauses of a script, in which it can be halted, and taken one act further."""

    def __init__(self) -> None:
        self.paused = False
        self.steps = 0  # acts to be played at once
        self._moved = asyncio.Event()

    def pause(self) -> None:
        """Stop the script, or let it go on."""
        self.paused = not self.paused
        self._moved.set()

    def halt(self) -> None:
        """Stop the script: somebody else acts now."""
        self.paused = True

    def step(self) -> None:
        """Play the next act now."""
        self.steps += 1
        self._moved.set()

    async def wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self.paused or loop.time() < end:
            if self.steps:
                self.steps -= 1
                return
            self._moved.clear()
            with suppress(TimeoutError):  # it may have been halted meanwhile
                async with asyncio.timeout(None if self.paused else end - loop.time()):
                    await self._moved.wait()


class TheatrePlayer(ScriptPace):
    """Plays the acts again and again. `tell` shows a line, `failed` hears of an error of a restart."""

    def __init__(
        self, watched: TheatreGroup, loss: float, tell: Callable[[str], object], failed: Callable[[Exception], object]
    ) -> None:
        super().__init__()
        self.loss = loss
        self._watched = watched
        self._tell = tell
        self._failed = failed
        self._restarts: set[asyncio.Task[None]] = set()

    async def play(self) -> None:
        for act in cycle(ACTS):
            await self.wait(act.pause)
            await self._do(act)

    def restart(self, nick: str) -> None:
        task = start(self._watched.restart(nick), self._failed)
        self._restarts.add(task)
        task.add_done_callback(self._restarts.discard)

    async def end(self) -> None:
        """Wait until no node is half started."""
        if self._restarts:
            await asyncio.wait(self._restarts)

    async def _do(self, act: TheatreAct) -> None:
        watched = self._watched
        match act.deed:
            case Deed.SAY:
                watched.say(act.who, act.text)
            case Deed.SPLIT:
                watched.split()
            case Deed.MEND:
                watched.mend()
            case Deed.LOSS:
                watched.lose(self.loss)
            case Deed.KILL:
                self.restart(act.who)
            case Deed.TELL:
                self._tell(act.text)
            case Deed.MEET:
                await self._meet()

    async def _meet(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + _PATIENCE
        while loop.time() < end and not self.steps and not self._watched.equal():
            await asyncio.sleep(_LOOK)
