"""Running the application over a node, to its end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sdschat.node.node import Node
from sdschat.tui import preferences as prefs
from sdschat.tui.app import ChatApp


async def run_chat(
    node: Node, channels: Sequence[str], *, ascii_only: bool = False, no_color: bool = False,
    theme: str | None = None, file: Path | None = None, copies: Path | None = None,
) -> int:  # fmt: skip
    """Gives the exit code."""
    app = make_app(
        node, channels, ascii_only=ascii_only, no_color=no_color, theme=theme, file=file, copies=copies
    )  # fmt: skip
    try:
        await app.run_async()
    finally:
        app.view.close()
    return app.return_code or 0


def make_app(
    node: Node, channels: Sequence[str], *, ascii_only: bool = False, no_color: bool = False,
    theme: str | None = None, file: Path | None = None, copies: Path | None = None,
) -> ChatApp:  # fmt: skip
    """`file`: the person's own preferences. `theme` is for this run alone."""
    from sdschat.node.view import NodeView

    view = NodeView(node)
    try:
        kept = view.value(prefs.KEPT_AS)
    finally:
        view.close()
    preferences, problems = prefs.load(file, kept)
    if theme is not None:
        preferences.change("theme", theme)
    return ChatApp(
        node, channels, preferences, ascii_only=ascii_only, plain=no_color, said=problems, copies=copies
    )  # fmt: skip
