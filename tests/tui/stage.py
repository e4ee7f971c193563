"""The application on a stage: driven by the pilot, over real nodes on a network in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot

from sdschat.node.node import Node
from sdschat.node.settings import Value
from sdschat.node.sync import extension
from sdschat.tui.app import ChatApp, make_app
from tests.node.worlds import PATIENCE, Member, World, world

# Quick acknowledgements, and no storm of resendings where a story has many messages.
CALM: dict[str, Value] = {
    "sds.resend_unacked": 5000,
    "sds.resend_possibly_acked": 5000,
    "sds.resend_max": 10_000,
}


def _nothing(node: Node) -> None:
    """Install nothing: the nodes do no more than SDS."""


class Stage:
    """One person at the application, the others as bare nodes."""

    def __init__(self, app: ChatApp, pilot: Pilot[int], place: World, peers: Mapping[str, Member]) -> None:
        self.app = app
        self.pilot = pilot
        self.world = place
        self.peers = peers

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        """Type a text. A line break in it does not send."""
        for letter in text:
            self.app.composer.insert(letter)
        await self.settle()

    async def type_at_once(self, text: str) -> None:
        """Press keys as a terminal delivers them if the user types faster than they are handled."""
        for letter in text:
            self.app.post_message(events.Key("enter" if letter == "\r" else letter, letter))
        await self.settle()

    async def enter(self, text: str) -> None:
        await self.type(text)
        await self.press("enter")

    async def enter_instead(self, text: str) -> None:
        """Replace the input by a text, and send it."""
        self.app.composer.put("")
        await self.enter(text)

    async def settle(self) -> None:
        """Wait until everything that this node knows is drawn."""
        await self.pilot.pause()
        async with asyncio.timeout(PATIENCE):
            while self.app.opening is None or not self.app.opening.done or self.app.node.scheduler.due:
                await asyncio.sleep(0.001)
        self.app._redraw()
        await self.pilot.pause()

    def say(self, text: str, who: str = "bob", channel: str = "lobby", **more: Any) -> str:
        """Send a message from another node. Return its id."""
        return self.peers[who].node.send(channel, text, **more).message_id

    async def until(self, condition: Callable[[], bool], what: str = "") -> None:
        """Wait until a condition holds that depends on other nodes."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():
                    await asyncio.sleep(0.05)
                    await self.settle()
        except TimeoutError:
            raise AssertionError(f"{what or 'it'} never came to pass; the screen was:\n{self.text()}") from None

    async def until_text(self, text: str) -> None:
        await self.until(lambda: text in self.text(), repr(text))

    def lines(self) -> list[str]:
        """Return the lines of the screen."""
        return [
            "".join(segment.text for segment in strip).rstrip() for strip in self.app.screen._compositor.render_strips()
        ]

    def text(self) -> str:
        return "\n".join(self.lines())

    def log(self) -> list[str]:
        """Return the visible lines of the log."""
        log = self.app.log_view
        return [log.render_line(y).text.rstrip() for y in range(log.size.height)]

    def follows(self) -> bool:
        """True if the log shows its end, and will follow it."""
        return self.app.log_view.following

    def hint(self) -> str:
        return self.app.panes.said("hint")


Story = Callable[[Stage], Awaitable[None]]


def staged(*channels: str, **how: Any) -> Callable[[Story], Callable[[Path], None]]:
    """Return a decorator that makes a test of a story about ann at the application."""

    def wrap(story: Story) -> Callable[[Path], None]:
        def test(tmp_path: Path) -> None:
            async def told() -> None:
                async with stage(tmp_path, "ann", *channels, **how) as made:
                    await story(made)

            asyncio.run(told())

        test.__name__, test.__doc__ = story.__name__, story.__doc__
        return test

    return wrap


@contextlib.asynccontextmanager
async def stage(
    folder: Path,
    nick: str = "ann",
    *channels: str,
    peers: tuple[str, ...] = (),
    size: tuple[int, int] = (100, 30),
    changes: Mapping[str, Value] | None = None,
    ascii_only: bool = False,
    no_color: bool = False,
    theme: str | None = None,
    syncs: bool = False,
    guest: bool = False,
    extends: Callable[[Node], object] = _nothing,
) -> AsyncIterator[Stage]:
    """Start the application, with peers in its channels. `syncs`: with history by comparison and direct messages.
    `extends`: installs something else."""
    wanted = channels or ("lobby",)
    changes = CALM | dict(changes or {})
    async with world(folder) as place:
        before = extension.install if syncs else extends
        others = {name: place.start(name, *wanted, changes=changes, before=before) for name in peers}
        own = place.start(nick, *wanted, changes=changes, before=before)
        app = make_app(
            own.node,
            wanted,
            ascii_only=ascii_only,
            no_color=no_color,
            theme=theme,
            copies=folder / "copied.txt",
            guest=guest,
        )
        try:
            async with app.run_test(size=size) as pilot:
                made = Stage(app, pilot, place, others)
                await made.settle()
                yield made
        finally:
            app.view.close()
