"""The chat line by line, on a node that shares a network in memory with a bare one."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path

from sdschat.node.sync import extension
from sdschat.node.view.conversations import Conversations
from sdschat.tui.plain.host import PlainHost
from sdschat.tui.preferences import Preferences
from tests.node.worlds import PATIENCE, Member, world


class Lines:
    """Ann at the application without a screen, bob as a bare node."""

    def __init__(self, host: PlainHost, out: io.StringIO, bob: Member) -> None:
        self.host = host
        self.bob = bob
        self._out = out

    async def enter(self, text: str) -> bool:
        return await self.host.input_handler.submit(text)

    def text(self) -> str:
        return self._out.getvalue()

    async def until(self, text: str) -> str:
        """Return the line with this text."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.text():
                await asyncio.sleep(0.01)
        return next(line for line in self.text().splitlines() if text in line)


def plain(folder: Path, story: Callable[[Lines], Awaitable[None]], *channels: str) -> None:
    async def told() -> None:
        async with world(folder) as place:
            wanted = channels or ("lobby",)
            bob, ann = (place.start(name, *wanted, before=extension.install) for name in ("bob", "ann"))
            view, out = Conversations(ann.node), io.StringIO()
            host = PlainHost(view, wanted, Preferences(), out)
            host.start()
            try:
                await story(Lines(host, out, bob))
            finally:
                view.close()

    asyncio.run(told())
