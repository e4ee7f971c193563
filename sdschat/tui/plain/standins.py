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
_NO_LENS: Final = "The Lens needs a screen. Leave out --plain to see it; /info and `sdschat inspect` work here."


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
    """There is no room for the Lens here."""

    is_open = False

    def open(self, view: str = "", argument: str = "") -> None:
        raise CommandError(
            "The Lens needs a screen. Leave out --plain to see it; /info and `sdschat inspect` work here."
        )
