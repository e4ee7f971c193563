"""The contract between commands and the application: everything that a command may use of it.

Two hosts fulfil it: `ScreenHost` in a terminal window and `PlainHost` on two streams. Both inherit from `BaseHost`,
which has all that does not depend on how things are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sdschat.node.node import Node
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import Key
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.glyphs import Glyphs
from sdschat.tui.preferences import Preferences


class CommandInfo(Protocol):
    """A command, as help describes it; implemented by `Command` in commands/registry.py."""

    @property
    def name(self) -> str: ...

    @property
    def usage(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    @property
    def details(self) -> str: ...

    @property
    def group(self) -> str: ...

    @property
    def needs_argument(self) -> bool: ...


class CommandIndex(Protocol):
    """All commands by name, as help looks them up; implemented by `Registry` in commands/registry.py."""

    @property
    def commands(self) -> Sequence[CommandInfo]: ...

    def names(self) -> list[str]:
        """Return the names of all commands, without aliases."""

    def find(self, name: str) -> CommandInfo:
        """Return the command with this name or alias. Raises CommandError."""

    def get(self, name: str) -> CommandInfo | None: ...


class MessageLog(Protocol):
    """The log that commands act on. Without a screen, a jump writes the messages that it arrives at."""

    def jump_to(self, key: Key, *, top: bool = False, choose: bool = False) -> None:
        """Show the message with this key, or the first one after it. `choose` selects it."""

    def jump_to_end(self) -> None: ...

    def action_start(self) -> None:
        """Show the oldest message."""

    def refresh_rows(self) -> None:
        """Draw the rows that have changed."""


class Lens(Protocol):
    """The view of the protocol's state: a panel, or lines of text without a screen."""

    def open(self, view: str = "", argument: str = "") -> None:
        """Show a view. Raises CommandError if there is no view with this name."""

    def toggle(self) -> None: ...


class Screen(Protocol):
    """Members that only a screen can fulfil. The plain host refuses them, or has nothing to do or to list."""

    def split(self, name: str | None) -> None:
        """Show this channel beside the other one; without a name, the next one, or a single one again."""

    def toggle_bare(self) -> None:
        """Show the log alone, or everything again."""

    def restyle(self) -> None:
        """Draw everything again by the preferences of now."""

    def apply_keys(self) -> None:
        """Put the keys of the preferences into force."""

    def key_table(self) -> list[tuple[str, str, str]]:
        """Return action, key and label of every key that can be changed."""


class Host(Screen, Protocol):
    """The application, as commands see it."""

    theme_now: str | None  # in force for this run whatever the preferences say

    @property
    def node(self) -> Node: ...

    @property
    def view(self) -> Conversations: ...

    @property
    def registry(self) -> CommandIndex: ...

    @property
    def preferences(self) -> Preferences: ...

    @property
    def models(self) -> Mapping[str, ChannelModel]: ...

    @property
    def order(self) -> Sequence[str]:
        """Open channels and conversations, in the order of the list."""

    @property
    def channel(self) -> str:
        """The channel or conversation that is shown now."""

    @property
    def room(self) -> str:
        """The channel that is shown, or the channel of the conversation that is shown."""

    @property
    def model(self) -> ChannelModel:
        """The model of the channel or conversation that is shown."""

    @property
    def selection(self) -> str | None:
        """The id of the selected message."""

    @property
    def lens(self) -> Lens: ...

    @property
    def log_view(self) -> MessageLog: ...

    @property
    def glyphs(self) -> Glyphs:
        """The signs that this host draws states with."""

    def tell(self, text: str, *, help: bool = False) -> None:
        """Write one or several lines of the program into the log that is shown."""

    def warn(self, text: str) -> None:
        """Show one line above the input."""

    def label(self, name: str) -> str:
        """Return the name of a channel or a conversation as the screen shows it."""

    def badge(self, name: str) -> str:
        """Return in words how complete a channel is, or if the partner of a conversation is here."""

    def find_message(self, prefix: str) -> str:
        """Return the full id that begins so; without a prefix, that of the selected message. Raises CommandError."""

    def select(self, message_id: str) -> None:
        """Jump to a message and select it. Raises CommandError if it is not in the log."""

    def open_channel(self, name: str) -> str:
        """Join a channel, list it, and return its normal name. Raises ValueError for an invalid name."""

    def open_talk(self, place: str) -> str:
        """List a conversation, and return its name. Raises CommandError if the node has no direct messages."""

    async def close_channel(self, name: str) -> None: ...

    def show_channel(self, name: str) -> None: ...

    def next_active(self) -> str | None:
        """Return the channel that needs attention most."""

    def send(self, text: str, *, action: bool = False, reply_to: str = "") -> None:
        """Send a message to the channel that is shown. Raises CommandError."""

    def copy(self, text: str, what: str) -> None:
        """Copy a text to the clipboard and to the file for copies, and say so. `what` names the text."""

    def save_preferences(self) -> None: ...

    def leave(self) -> None:
        """End the program."""
