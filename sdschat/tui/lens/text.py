"""Views as plain text, for a host without a screen."""

from __future__ import annotations

from sdschat.node.view.channel import NodeView
from sdschat.tui.lens.inspector import Eye
from sdschat.tui.lens.lines import plain
from sdschat.tui.model.glyphs import ASCII

_WIDTH = 78


def view_text(view: NodeView, name: str, channel: str, selection: str | None, argument: str = "") -> str:
    """Return a view as text, from the database and the engine. Raises ValueError for an unknown view."""
    eye = Eye(view.node, view)
    try:
        return "\n".join(plain(line) for line in eye.lines(name, channel, selection, argument, _WIDTH, ASCII))
    finally:
        eye.close()
