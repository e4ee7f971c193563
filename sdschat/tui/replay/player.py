"""The player of a recording: at its own speed, faster, slower, step by step, and back. It needs no screen."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sdschat.node.recording.reader import Recording
from sdschat.node.recording.replay import ONLY_SHOWN, ReplayNode
from sdschat.node.tasks import start
from sdschat.node.view.conversations import Conversations

SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
LONGEST_PAUSE: Final = 2.0  # seconds; a longer pause in the recording is cut to this
_FRAME: Final = 0.1


class Player:
    """One pass through a recording from a given place. To go back, a new pass is opened."""

    def __init__(self, recording: Recording, *, speed: float = 1.0, playing: bool = True) -> None:
        self.recording = recording
        self.speed = speed
        self.playing = playing
        self.node: ReplayNode = None  # type: ignore[assignment]
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._moved = asyncio.Event()

    async def open(self, place: int = 0) -> ReplayNode:
        """Return a node that stands at this place. The node before it is closed."""
        await self.close()
        self._folder = tempfile.TemporaryDirectory(prefix="sdschat-replay-")
        self.node = ReplayNode(self.recording, Path(self._folder.name) / "sdschat.db")
        self.node.go_to(place)
        return self.node

    async def close(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            await self.node.close()
            folder.cleanup()

    def conversations(self) -> Conversations:
        """Return the conversations of the node that stands at the place now."""
        return Conversations(self.node, recorded=ONLY_SHOWN)

    def begin(self, fail: Callable[[Exception], object], place: int = 0) -> asyncio.Task[None]:
        """Play from a place in a task of its own, which tells `fail` of an error."""
        return start(self.run(place), fail)

    @property
    def at_end(self) -> bool:
        return self.node.next is None

    def pause(self) -> None:
        self.playing = False
        self._moved.set()

    def play(self) -> None:
        self.playing = True
        self._moved.set()

    def set_speed(self, speed: float) -> None:
        self.speed = speed
        self._moved.set()

    def step(self, count: int = 1) -> None:
        """Go on to the next step that emitted an event, so many times."""
        for _ in range(count):
            while self.node.next is not None and not self.node.step():
                pass

    def place_back(self, count: int = 1) -> int:
        """Return the place so many steps with an event earlier."""
        told = [place for place, step in enumerate(self.recording.steps[: self.node.place], 1) if step.has_event]
        return told[-count - 1] if len(told) > count else 0

    async def run(self, place: int = 0) -> None:
        """Go to a place, then play until cancelled. Pauses, speed and steps are set from outside meanwhile."""
        self.node.go_to(place)
        while True:
            if not self.playing or self.at_end:
                self._moved.clear()
                await self._moved.wait()
                continue
            await self._wait_for_next()
            step = self.node.next
            if self.playing and step is not None and step.at <= self.node.time.at:
                self.node.step()

    async def _wait_for_next(self) -> None:
        """Let time pass up to the next step, in small pieces, so that countdowns count down."""
        step = self.node.next
        if step is None:
            return
        clock = self.node.time
        left = (step.at - clock.at) / 1000
        if left <= 0:
            await asyncio.sleep(0)
            return
        if left / self.speed > LONGEST_PAUSE:
            clock.at = max(clock.at, step.at - int(LONGEST_PAUSE * self.speed * 1000))
            left = (step.at - clock.at) / 1000
        wait = min(_FRAME, left / self.speed)
        self._moved.clear()
        try:
            async with asyncio.timeout(wait):
                await self._moved.wait()
        except TimeoutError:
            clock.at = min(step.at, clock.at + max(1, round(wait * self.speed * 1000)))

    def status(self) -> str:
        """Return state and place of the player in words."""
        steps = self.recording.steps
        state = "at its end" if self.at_end else f"{self.speed:g}x" if self.playing else "paused"
        start, end = (steps[0].at, steps[-1].at) if steps else (0, 0)
        return f"RECORDING {state} | {_clocked(self.node.time.at - start)} of {_clocked(end - start)}"


def _clocked(milliseconds: int) -> str:
    seconds = max(0, milliseconds) // 1000
    return f"{seconds // 60}:{seconds % 60:02d}"
