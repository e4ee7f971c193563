"""Stand-ins for the parts of a screen that commands expect: the log, the Lens, keys and colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sdschat.node.view.values import Key
from sdschat.tui.errors import CommandError

if TYPE_CHECKING:
    from sdschat.tui.plain.host import PlainHost

_AROUND: Final = 10
_FIRST_VIEW: Final = "repair"
_OF_A_MESSAGE: Final = ("why", "packet", "graph", "matrix", "filter")


class PlainLog:
    """The log without a screen: a jump writes the messages that it arrives at."""

    def __init__(self, host: PlainHost) -> None:
        self._host = host

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
        """Do nothing: rows are not drawn here."""


class NoScreen:
    """The members of `Screen` without a screen."""

    def split(self, name: str | None) -> None:
        raise CommandError("There is no screen to split. Lines of all open channels come in here anyway.")

    def toggle_bare(self) -> None:
        raise CommandError("This is as bare as it gets.")

    def restyle(self) -> None:
        """Do nothing: there are no colours."""

    def apply_keys(self) -> None:
        """Do nothing: there are no keys."""

    def key_table(self) -> list[tuple[str, str, str]]:
        return []


class PlainLens:
    """The Lens without a screen: every view is written as lines."""

    def __init__(self, host: PlainHost) -> None:
        self._host = host

    def open(self, view: str = "", argument: str = "") -> None:
        """Write the lines of a view. Raises CommandError if there is no view with this name."""
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
