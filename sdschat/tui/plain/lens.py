"""The Lens without a screen."""

from __future__ import annotations

from typing import Final

from sdschat.node.view.conversations import Conversations
from sdschat.tui.host import Host
from sdschat.tui.lens.inspector import LensInspector
from sdschat.tui.lens.view_input import names_message, plain
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import ASCII

_FIRST_VIEW: Final = "repair"
_WIDTH: Final = 78
_SPOKEN: Final = ASCII._replace(queued="", unacked="", maybe="", acked="")  # the word of a state stands beside it


class PlainLens:
    """The Lens without a screen: every view is written as lines."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def open(self, view: str = "", argument: str = "") -> None:
        """Write the lines of a view. Raises CommandError if there is no view with this name."""
        host, chosen = self._host, self._host.selection
        if names_message(view, argument):
            chosen, argument = argument, ""
        try:
            host.show_notice(view_text(host.view, view or _FIRST_VIEW, host.room, chosen, argument))
        except ValueError as error:
            raise CommandError(str(error)) from error

    def toggle(self) -> None:
        self.open()

    def forget_named(self) -> None: ...  # each view is written once


def view_text(view: Conversations, name: str, channel: str, selection: str | None, argument: str = "") -> str:
    """Return a view as text, from the database and the engine. Raises ValueError for an unknown view."""
    inspector = LensInspector(view.node, view)
    glyphs = _SPOKEN if name == "why" else ASCII
    try:
        return "\n".join(plain(line) for line in inspector.lines(name, channel, selection, argument, _WIDTH, glyphs))
    finally:
        inspector.close()
