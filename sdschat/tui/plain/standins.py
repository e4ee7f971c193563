"""What commands expect of a screen, where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sdschat.node.view_values import Key
from sdschat.tui.commands.registry import CommandError
from sdschat.tui.look import Look
from sdschat.tui.model.glyphs import ASCII

if TYPE_CHECKING:
    from sdschat.tui.plain.host import PlainHost

_AROUND: Final = 10
_FIRST_VIEW: Final = "repair"
_OF_A_MESSAGE: Final = ("why", "packet", "graph", "matrix", "filter")


class PlainLog:
    """Stands in for the log on a screen: jumping somewhere says what is there."""

    def __init__(self, host: PlainHost) -> None:
        self._host = host
        self.look = Look(glyphs=ASCII, ids=True, links=False)

    def jump_to(self, key: Key, *, top: bool = False, choose: bool = False) -> None:
        host = self._host
        found = host.view.messages(host.channel, after=(key[0], key[1][:-1]), limit=_AROUND)
        if choose and found:
            host.model.selected = found[0].message_id
        host.say_entries([host.model.entry_for(shown) for shown in found if shown.key >= key])

    def jump_to_end(self) -> None:
        host = self._host
        found = host.view.messages(host.channel, limit=_AROUND)
        host.say_entries([host.model.entry_for(shown) for shown in found])

    def action_start(self) -> None:
        self.jump_to((0, ""))

    def refresh_rows(self) -> None:
        """There is nothing to draw."""


class PlainLens:
    """Every view, as lines."""

    is_open = False

    def __init__(self, host: PlainHost) -> None:
        self._host = host

    def open(self, view: str = "", argument: str = "") -> None:
        """Raises CommandError for a view that there is not."""
        from sdschat.tui.lens.text import view_text

        host, chosen = self._host, self._host.selection
        if argument and view in _OF_A_MESSAGE and not argument.isdigit():
            chosen, argument = argument, ""
        try:
            host.tell(view_text(host.view, view or _FIRST_VIEW, host.room, chosen, argument))
        except ValueError as error:
            raise CommandError(str(error)) from error

    def toggle(self) -> None:
        self.open()
