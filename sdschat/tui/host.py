"""What a command, and a panel beside the log, may use of the application."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sdschat.node.node import Node
from sdschat.node.places import Places
from sdschat.tui.model.channel import ChannelModel

if TYPE_CHECKING:
    from textual.app import App

    from sdschat.tui.commands.registry import Registry
    from sdschat.tui.lens_host import LensHost
    from sdschat.tui.preferences import Preferences
    from sdschat.tui.widgets.log_view import LogView


class Host(Protocol):
    """The application, as commands see it."""

    theme_now: str | None  # in force whatever the preferences say

    @property
    def node(self) -> Node: ...

    @property
    def view(self) -> Places: ...

    @property
    def registry(self) -> Registry: ...

    @property
    def preferences(self) -> Preferences: ...

    @property
    def models(self) -> Mapping[str, ChannelModel]: ...

    @property
    def order(self) -> Sequence[str]:
        """The channels as they stand in the list."""

    @property
    def channel(self) -> str:
        """The one that is shown now."""

    @property
    def room(self) -> str:
        """The channel behind it, where that one is a conversation of two."""

    @property
    def model(self) -> ChannelModel: ...

    @property
    def selection(self) -> str | None:
        """The id of the selected message."""

    @property
    def lens(self) -> LensHost: ...

    @property
    def log_view(self) -> LogView:
        """The log that commands act on."""

    @property
    def app(self) -> App[Any]: ...

    def tell(self, text: str, *, help: bool = False) -> None:
        """A line of the program, or several, in the log that is shown."""

    def warn(self, text: str) -> None:
        """One line above the input."""

    def label(self, name: str) -> str:
        """What a channel or a conversation is called on the screen."""

    def badge(self, name: str) -> str:
        """How complete it is, or whether the other one is there."""

    def find_message(self, prefix: str) -> str:
        """The full id; of the selected message where there is no prefix. Raises CommandError."""

    def select(self, message_id: str) -> None:
        """Jump to a message and select it. Raises CommandError where it is not in the log."""

    def open_channel(self, name: str) -> str:
        """Join a channel and list it; gives its name as it is written everywhere. Raises ValueError."""

    def open_talk(self, place: str) -> str:
        """List the conversation of this name, and give it back. Raises CommandError where there are none."""

    async def close_channel(self, name: str) -> None: ...

    def show_channel(self, name: str) -> None: ...

    def next_active(self) -> str | None:
        """The channel that wants attention most."""

    def split(self, name: str | None) -> None:
        """Show this channel beside the other one; without a name, the next one, or a single one again."""

    def send(self, text: str, *, action: bool = False, reply_to: str = "") -> None:
        """Raises CommandError."""

    def copy(self, text: str, what: str) -> None:
        """To the clipboard, and into a file for where that does not work; says so."""

    def save_preferences(self) -> None: ...

    def restyle(self) -> None:
        """Draw everything as the preferences say now."""

    def apply_keys(self) -> None: ...

    def key_table(self) -> list[tuple[str, str, str]]:
        """Action, key, label."""

    def toggle_bare(self) -> None: ...

    def leave(self) -> None: ...
