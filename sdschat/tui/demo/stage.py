"""The demonstration on the screen: the chat of the watcher, while the other nodes play the script."""

from __future__ import annotations

import asyncio

from sdschat.node.tasks import first
from sdschat.node.view.conversations import Conversations
from sdschat.tui.app import ChatApp
from sdschat.tui.beside import run_beside
from sdschat.tui.demo.director import Director
from sdschat.tui.demo.script import WATCHER
from sdschat.tui.preferences import Preferences

WELCOME = "A demonstration. F2 opens the Lens, Alt+Up selects a message, /why says who has it, /quit ends it."


def make_app(director: Director, *, ascii_only: bool = False, theme: str | None = None) -> ChatApp:
    """Make the chat with default preferences: those of the user are neither read nor changed."""
    view = Conversations(director.group.nodes[WATCHER])
    return ChatApp(
        view, [director.group.channel], Preferences(), ascii_only=ascii_only, theme_now=theme, said=[WELCOME]
    )


async def show(director: Director, seconds: float | None, *, ascii_only: bool, theme: str | None) -> int:
    """Run until the user quits, or for `seconds`, and return the exit code."""
    app = make_app(director, ascii_only=ascii_only, theme=theme)

    def tell(text: str) -> None:
        app.call_later(app.show_notice, text)

    director.show_notice = tell
    try:
        return await run_beside(app, _play(director, app, seconds), first(*director.failed))
    finally:
        app.view.close()


async def _play(director: Director, app: ChatApp, seconds: float | None) -> None:
    """Play the script once the watcher's channel is connected."""
    try:
        async with asyncio.timeout(seconds) as limit:
            await director.watching.wait()
            await director.play()
    except TimeoutError:
        if not limit.expired():
            raise
        app.exit(0)
