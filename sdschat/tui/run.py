"""Run the application over a node, to its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sdschat.node.node import Node
from sdschat.node.view.conversations import Places
from sdschat.tui import preferences as prefs
from sdschat.tui.app import ChatApp


async def run_chat(
    node: Node, channels: Sequence[str], *, ascii_only: bool = False, no_color: bool = False,
    theme: str | None = None, file: Path | None = None, copies: Path | None = None,
) -> int:  # fmt: skip
    """Run the chat and return the exit code. An error that ended it is raised when the terminal is restored."""
    app = make_app(
        node, channels, ascii_only=ascii_only, no_color=no_color, theme=theme, file=file, copies=copies
    )  # fmt: skip
    try:
        await app.run_async()
    finally:
        app.view.close()
    if app.crash is not None:
        raise app.crash
    return app.return_code or 0


def make_app(
    node: Node, channels: Sequence[str], *, ascii_only: bool = False, no_color: bool = False,
    theme: str | None = None, file: Path | None = None, copies: Path | None = None,
) -> ChatApp:  # fmt: skip
    """Make the application. `file`: the user's preferences. `theme` is for this run alone."""
    view = Places(node)
    preferences, problems = prefs.load(file, view.value(prefs.KEPT_AS))
    return ChatApp(
        view, channels, preferences, ascii_only=ascii_only, theme_now="plain" if no_color else theme, said=problems,
        copies=copies,
    )  # fmt: skip
