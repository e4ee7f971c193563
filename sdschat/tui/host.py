"""The contract between commands and the application: a command, the registry of all, and the host that they act on.

`Host` is everything that a command may use of the application. It has all that does not depend on how things are shown;
what does is abstract here, and implemented by `ScreenHost` in a terminal window and `PlainHost` on two streams.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from sdschat.node.view.conversations import Conversations
from sdschat.node.view.members import standing_words
from sdschat.node.view.private import privacy
from sdschat.node.view.values import ContentKind, Conversation, Key, did_you_mean
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.results import CommandError, Page
from sdschat.tui.model.status import IDLE, privacy_words, sync_words, talk_words, unsaved_words
from sdschat.tui.model.words import NAME_LIMIT, Glyphs, clean, clean_name, reason_text, tagged_nick
from sdschat.tui.model.workspace import Workspace
from sdschat.tui.preferences import KEPT_AS, Preferences
from sdschat.tui.text_log import TextLog
from sdschat.tui.themes import Palette, theme_in_force

# Commands of other programs for what is not here on purpose, and what is here in their place.
_REACTION: Final = "There are no reactions: a short answer is one, and /reply writes it."
_RECEIPT: Final = "Nobody tells that a message was read. Who has it is known: /why tells."
_PLUGIN: Final = "A program beside the chat takes part by `sdschat pipe`, and notify_command runs one for each mention."
_BROKER: Final = "The broker is named at the start, with --broker. /reconnect connects to it now, or tells its name."
_SETTINGS: Final = "/keys, /theme, /alias, /bell and /notify change what you see; `sdschat config` lists all settings."
ABSENT: Final = {
    **dict.fromkeys(("react", "reaction"), _REACTION),
    "away": "Who goes is shown as not here, and finds what was said meanwhile.",
    "typing": "Nobody tells that somebody types: it would tell what is not said.",
    **dict.fromkeys(("read", "seen", "receipts"), _RECEIPT),
    **dict.fromkeys(("plugin", "plugins", "script", "hook", "hooks"), _PLUGIN),
    **dict.fromkeys(("vi", "vim", "emacs"), "The keys are those of any input line. /editor writes in your editor."),
    "language": "The program speaks English alone.",
    "discard": "What is written stays, and goes out once it can: others may have it already. /outbox lists what waits.",
    "kick": "/remove takes a member out of a private channel; /mute shows nothing of what somebody says.",
    "block": "/mute shows nothing of what somebody says, /ignore keeps nothing of it.",
    "quote": "/reply answers a message, and shows which one.",
    "list": "/channels lists the channels that are open.",
    "topic": "A channel has a name and no topic.",
    **dict.fromkeys(("whois", "users"), "/who tells who is known, and /verify NICK whose key it is."),
    **dict.fromkeys(("broker", "server", "connect"), _BROKER),
    **dict.fromkeys(("set", "settings"), _SETTINGS),
}
_NOTHING_SELECTED = "No message is selected. Select one with Alt+Up, or give the beginning of its id."
_NOTHING_CHOSEN = "No message is chosen. /search WORDS and /goto TIME choose one; /end lists the last ones with ids."


class Command(NamedTuple):
    """A command, and everything that its help says."""

    name: str  # without the slash
    usage: str  # "/goto TIME"
    summary: str  # one line
    run: Callable[[Host, str], Awaitable[None] | None]  # gets the argument: the text after the name, stripped
    aliases: tuple[str, ...] = ()
    details: str = ""
    complete: Callable[[Host, str], Iterable[str]] | None = None  # gets the argument so far; gives whole last words
    group: str = "chat"
    reaches_out: bool = False  # to files or programs of this machine

    @property
    def needs_argument(self) -> bool:
        words = self.usage.split()[1:]
        return bool(words) and not words[0].startswith("[")


class CommandRegistry:
    """All commands by name and alias. The commands given are first iterated when one is looked up."""

    def __init__(self, commands: Iterable[Command], *, guest: bool = False) -> None:
        """`guest`: without commands that reach files or programs of this machine."""
        self._given = commands
        self._guest = guest

    @cached_property
    def _all(self) -> tuple[Command, ...]:
        return tuple(self._given)

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        return tuple(each for each in self._all if not (self._guest and each.reaches_out))

    @cached_property
    def _named(self) -> dict[str, Command]:
        named: dict[str, Command] = {}
        for command in self.commands:
            for name in (command.name, *command.aliases):
                if name in named:
                    raise ValueError(f"two commands are called /{name}")
                named[name] = command
        return named

    def names(self) -> list[str]:
        """Return the names of all commands, without aliases."""
        return sorted(command.name for command in self.commands)

    def find(self, name: str, topics: Collection[str] = ()) -> Command:
        """Return the command with this name or alias. Raises CommandError. `topics`: what else help tells of."""
        found = self._named.get(name.lower())
        if found is not None:
            return found
        if self.knows(name):
            raise CommandError(f"/{name} reaches files or programs of the machine that runs this chat: not for guests.")
        known, prefix = [*self._named, *topics], "/help " if topics else "/"
        hint = ABSENT.get(name.lower()) or did_you_mean(name.lower(), known, "/help lists all of them.", prefix=prefix)
        if topics:
            raise CommandError(f"No command, topic or line of help has {clean(name, limit=40)}. {hint}")
        raise CommandError(f"There is no command /{name}. {hint} To send it as a message, write //{name}.")

    def knows(self, name: str) -> bool:
        """True for the name or alias of a command, also of one that is not for guests."""
        return any(name.lower() in (each.name, *each.aliases) for each in self._all)

    def get(self, name: str) -> Command | None:
        return self._named.get(name.lower())


class MessageLog(Protocol):
    """The log that commands act on. Without a screen, a jump writes the messages that it arrives at."""

    def jump_to(self, key: Key, *, top: bool = False, choose: bool = False) -> None:
        """Show the message with this key, or the first one after it. `choose` selects it."""

    def jump_to_end(self) -> None: ...

    def action_start(self) -> None: ...  # to the oldest message

    def action_pages(self, pages: int) -> None: ...  # down, or up where it is negative

    def refresh_rows(self) -> None: ...  # that have changed


class Lens(Protocol):
    """The view of the protocol's state: a panel, or lines of text without a screen."""

    def open(self, view: str = "", argument: str = "") -> None:
        """Show a view. Raises CommandError if there is no view with this name."""

    def toggle(self) -> None: ...

    def forget_named(self) -> None:
        """Show what is selected in the log, in the place of a message that a command named."""


class Host:
    """The application, as commands see it."""

    log_view: MessageLog
    lens: Lens
    has_keys = True  # of its own; without a screen there are only lines
    colours_off = False  # NO_COLOR is set
    waits = True  # nothing is half written, and nothing lies over the log
    light_terminal: bool | None = None  # what the terminal answered about its background

    def __init__(
        self,
        view: Conversations,
        preferences: Preferences,
        registry: CommandRegistry,
        theme_now: str | None = None,
    ) -> None:
        """`theme_now`: in force for this run whatever the preferences say."""
        self.node = view.node
        self.view = view
        self.preferences = preferences
        self.theme_now = theme_now
        self.registry = registry
        self.workspace = Workspace(view, preferences.level, preferences.highlight)
        logs = self.node.profile.store.path.parent / "logs"
        self.text_log = TextLog(self.workspace, preferences, logs, self.warn)

    # Members that each host has for itself.

    @property
    @abstractmethod
    def glyphs(self) -> Glyphs:
        """Return the signs that this host draws states with."""

    @abstractmethod
    def show_notice(self, text: str) -> None:
        """Write one or several lines of the program into the log that is shown."""

    @abstractmethod
    def answer(self, text: str, title: str, renew: Callable[[], str] | None = None, *, stays: bool = False) -> None:
        """Show the answer of a command where it is seen, wherever one reads. It is no part of the log.

        `renew` returns the answer as it is now: it is asked while the answer is shown. `stays`: it is shown until Esc
        or the next line, however short it is.
        """

    @abstractmethod
    def show_pages(self, pages: Sequence[Page], title: str) -> None:
        """Show pages, the one with this title first."""

    @abstractmethod
    def warn(self, text: str) -> None:
        """Show one line above the input."""

    def refuse(self, text: str) -> None:
        """Show one line above the input that says why something was not done."""
        self.warn(text)

    @abstractmethod
    async def close_channel(self, name: str) -> None:
        """Leave a channel or conversation, and show another one if it was shown."""

    @abstractmethod
    def show_channel(self, name: str) -> None: ...

    @abstractmethod
    def copy(self, text: str, what: str) -> None:
        """Copy a text to the clipboard and to the file for copies, and say so. `what` names the text."""

    @abstractmethod
    def show_secret(self, text: str, title: str, words: str, picture: Sequence[str]) -> None:
        """Show a secret once, as an answer with words and a picture of it. It is kept in no log and in no file."""

    @abstractmethod
    def leave(self) -> None:
        """End the program."""

    # Members that only a screen can fulfil. The plain host refuses them, or has nothing to do or to list.

    @abstractmethod
    def split(self, name: str | None) -> None:
        """Show this channel beside the other one; without a name, the next one, or a single one again."""

    @abstractmethod
    async def edit_draft(self, text: str) -> None:
        """Let the user write in an editor, beginning with this text. Raises CommandError."""

    @abstractmethod
    def mark(self, words: str) -> None:
        """Mark these words in the log, and no others."""

    @abstractmethod
    def show_bare(self, argument: str) -> None:
        """Show the log alone, or everything again: `on`, `off`, or the other way round."""

    @abstractmethod
    def restyle(self) -> None:
        """Draw everything again by the preferences of now."""

    @abstractmethod
    def apply_keys(self) -> None:
        """Put the keys of the preferences into force."""

    @abstractmethod
    def key_table(self) -> list[tuple[str, str, str]]:
        """Return action, key and label of every key that can be changed."""

    # The open channels and conversations.

    @property
    def models(self) -> Mapping[str, ChannelModel]:
        return self.workspace.models

    @property
    def order(self) -> Sequence[str]:
        """Open channels and conversations, in the order of the list."""
        return self.workspace.order

    @property
    def shown(self) -> str:
        """Return the name of the channel or conversation that is shown now."""
        return self.workspace.shown

    @property
    def channel(self) -> str:
        """Return the channel that is shown, or the channel of the conversation that is shown."""
        model = self.workspace.models.get(self.workspace.shown)
        return "" if model is None else model.conversation.channel

    @property
    def model(self) -> ChannelModel:
        """Return the model of the channel or conversation that is shown."""
        return self.workspace.models[self.workspace.shown]

    @property
    def conversation(self) -> Conversation:
        """Return the channel or conversation that is shown."""
        return self.model.conversation

    @property
    def selection(self) -> str | None:
        """Return the id of the selected message."""
        model = self.workspace.models.get(self.workspace.shown)
        return None if model is None else model.selected

    def label(self, name: str, limit: int = NAME_LIMIT) -> str:
        """Return the name of a channel or a conversation as the screen shows it."""
        conversation = self.view.conversation(name)
        return tagged_nick(clean_name(conversation.title(), limit=limit), conversation.tag())

    def badge(self, name: str) -> str:
        """Return in words how complete a channel is, or if the partner of a conversation is here."""
        model, conversation = self.models[name], self.models[name].conversation
        sync, partner = conversation.sync(), conversation.partner()
        was = "was " if self.view.recorded and model.connection.state != "connected" else ""  # this program never is
        if partner is not None:
            words = was + talk_words(model.connection, partner, sync.unacked)
            several = len({each.conversation.channel for each in self.models.values()}) > 1
            return f"{words} in {clean_name(conversation.channel)}" if several else words
        alone = not any(person.online for person in conversation.people() if not person.own)
        secrecy = privacy(self.node, name)
        unconfirmed = secrecy is not None and secrecy.unconfirmed
        words = was + sync_words(model.connection, sync, model.history, alone=alone, unconfirmed=unconfirmed)
        if secrecy is not None and secrecy.shut_out:
            words = "not a member"
        if self.node.cannot_save:
            words = "cannot save"
        state, kind = [words, standing_words(self.view.node, name)], "" if secrecy is None else privacy_words(secrecy)
        if words in IDLE:  # that one does not write here says more, and a narrow head has the first part alone
            state.reverse()
        return ", ".join(filter(None, (*state, kind)))

    def find_message(self, prefix: str) -> str:
        """Return the full id that begins so; without a prefix, that of the selected message. Raises CommandError."""
        prefix = prefix.strip()
        if not prefix:
            if self.selection is None:
                raise CommandError(_NOTHING_SELECTED if self.has_keys else _NOTHING_CHOSEN)
            return self.selection
        begins = (prefix, prefix.lower())
        gaps = [message_id for message_id in self.model.timeline.gaps if message_id.startswith(begins)]
        found = self.conversation.find_ids(prefix, 3) + gaps
        if not found:
            raise CommandError(f"No message of this channel has an id that begins with {clean_name(prefix)}.")
        if len(found) > 1:
            raise CommandError(f"Several ids begin with {clean_name(prefix)}. Give more letters of it.")
        return found[0]

    def message_in_question(self, prefix: str) -> str:
        """Do what `find_message` does; if nothing is selected either, return the newest message of ours: did it
        arrive?"""
        if not prefix.strip() and self.selection is None:
            newest = next((entry for entry in reversed([*self.model.timeline.messages()]) if entry.own), None)
            if newest is not None:
                return newest.message_id
        return self.find_message(prefix)

    def select(self, message_id: str) -> None:
        """Jump to a message and select it. Raises CommandError if it is not in the log."""
        shown = self.conversation.message(message_id)
        if shown is None:
            raise CommandError("That message is not in this log.")
        self.log_view.jump_to(shown.key, choose=True)

    def open_channel(self, name: str) -> str:
        """Join a channel, list it, and return its normal name. Raises ValueError for an invalid name."""
        channel = self.view.join(name, self.workspace.add_if_new)
        self.workspace.add_talks(channel)
        return channel

    def open_talk(self, name: str) -> str:
        """List a conversation, and return its name. Raises CommandError if the node has no direct messages."""
        try:
            self.workspace.add_if_new(name)
        except ValueError as error:
            raise CommandError(str(error)) from error
        return name

    def send(self, text: str, *, action: bool = False, reply_to: str = "") -> None:
        """Send a message to the channel that is shown. Raises CommandError, also while nothing can be saved: what the
        node takes then is lost if the program ends before the disk has room."""
        if self.node.cannot_save:
            raise CommandError(f"Not sent: {unsaved_words(self.node.cannot_save)}. Send it again later.")
        kind = ContentKind.ACTION if action else ContentKind.TEXT
        try:
            self.conversation.say(text, kind, reply_to)
        except ValueError as error:
            raise CommandError(f"Not sent: {reason_text(error)}") from error
        if not self.view.recorded and not self.view.connected(self.channel):
            self.view.retry_now(self.channel)  # whoever writes wants it to go out, and the next attempt may be far off

    @property
    def on_light(self) -> bool:
        """True if the background is light."""
        return not self.palette.theme.dark

    @property
    def palette(self) -> Palette:
        """Return the colours in force."""
        return self.preferences.palettes[theme_in_force(self.theme_now or self.preferences.theme, self.light_terminal)]

    def save_preferences(self) -> None:
        self.view.set_value(KEPT_AS, self.preferences.dumped())
