"""The log and the Lens without a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import Key, Shown
from sdschat.tui.host import Host
from sdschat.tui.lens.inspector import LensInspector
from sdschat.tui.lens.view_input import names_message, plain
from sdschat.tui.model.items import MessageItem
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import ASCII

_FIRST_VIEW: Final = "repair"
_WIDTH: Final = 78
_SPOKEN: Final = ASCII._replace(queued="", unacked="", maybe="", acked="")  # the word of a state stands beside it

SHOWN_AT_START: Final = 20
_AROUND: Final = 10  # messages that a jump writes


class PlainLog:
    """The log without a screen: a jump writes the messages that it arrives at."""

    def __init__(self, host: Host, write: Callable[[Sequence[MessageItem]], None]) -> None:
        self._host = host
        self._write = write
        self._listed: dict[str, list[Shown]] = {}  # what a jump wrote last, by channel
        self._told = False  # that there is a command to go on

    def jump_to(self, key: Key, *, top: bool = False, choose: bool = False) -> None:
        host = self._host
        after = host.conversation.messages(after=(key[0], key[1][:-1]), limit=_AROUND)
        found = [shown for shown in after if shown.key >= key]
        if choose and found:
            host.model.selected = found[0].message_id
            found = found[: None if top else 1]  # a hit: what follows it is none
        self._list(found)
        if len(found) == _AROUND and not self._told:
            self._told = True
            host.show_notice("/more lists what follows, /more back what stands before it.")

    def jump_to_end(self) -> None:
        self._host.model.selected = None
        self._list(self._host.conversation.messages(limit=_AROUND))
        self._host.model.seen()

    def action_start(self) -> None:
        self.jump_to((0, ""))

    def action_pages(self, pages: int) -> None:
        """Write the messages below those that were listed last, or above them. Raises CommandError at the end."""
        conversation, name = self._host.conversation, self._host.shown
        listed, down = self._listed.get(name) or conversation.messages(limit=SHOWN_AT_START), pages > 0
        if listed and down:
            found = conversation.messages(after=listed[-1].key, limit=_AROUND)
        else:
            found = conversation.messages(before=listed[0].key, limit=_AROUND) if listed else []
        if not found:
            raise CommandError(f"That was the {'newest' if down else 'oldest'} message that is here.")
        self._list(found)

    def refresh_rows(self) -> None: ...  # rows are not drawn here

    def _list(self, found: list[Shown]) -> None:
        self._listed[self._host.shown] = found
        self._write([self._host.model.entry_for(shown) for shown in found])


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
            host.show_notice(view_text(host.view, view or _FIRST_VIEW, host.channel, chosen, argument))
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
