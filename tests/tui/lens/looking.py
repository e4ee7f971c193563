"""Observation of nodes that share a network in memory, without a screen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from sdschat.node.settings import Value
from sdschat.node.view.conversations import Conversations
from sdschat.tui.lens.inspector import LensInspector
from sdschat.tui.lens.view_input import plain
from tests.node.worlds import PATIENCE, Member, World, world

ROOM = "lobby"


class Looking:
    """A Lens on ann's node; the others are bare nodes."""

    def __init__(self, place: World, own: Member, peers: Mapping[str, Member], eye: LensInspector) -> None:
        self.world = place
        self.own = own
        self.peers = peers
        self.eye = eye

    def __getitem__(self, name: str) -> Member:
        return self.own if name == "ann" else self.peers[name]

    def say(self, name: str, text: str) -> str:
        """Send a message. Return its id."""
        return self[name].node.send(ROOM, text).message_id

    def text(self, view: str, selection: str | None = None, argument: str = "", width: int = 70) -> str:
        return "\n".join(plain(line) for line in self.eye.lines(view, ROOM, selection, argument, width))

    async def until(self, view: str, *wanted: str, selection: str | None = None, argument: str = "") -> str:
        """Wait until all of these texts are in the view."""
        shown = ""
        try:
            async with asyncio.timeout(PATIENCE):
                while not all(each in (shown := self.text(view, selection, argument)) for each in wanted):
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"{wanted} never stood in {view}, which says:\n{shown}") from None
        return shown


@contextlib.asynccontextmanager
async def looking(folder: Path, *peers: str, changes: Mapping[str, Value] | None = None) -> AsyncIterator[Looking]:
    async with world(folder) as place:
        others = {name: place.start(name, changes=changes) for name in peers}
        own = place.start("ann", changes=changes)
        view = Conversations(own.node)
        eye = LensInspector(own.node, view)
        own.node.listen(eye.hear)
        try:
            yield Looking(place, own, others, eye)
        finally:
            eye.close()
            view.close()
