"""The part of the host that is the same with a screen and without one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sdschat.node.view.conversations import Conversations, channel_of
from sdschat.node.view.values import ContentKind
from sdschat.tui.commands.loader import load
from sdschat.tui.commands.registry import Command
from sdschat.tui.errors import CommandError
from sdschat.tui.host import MessageLog
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.cleaning import clean_name, reason_text
from sdschat.tui.model.status import sync_words, talk_words
from sdschat.tui.model.workspace import Workspace
from sdschat.tui.preferences import KEPT_AS, Preferences

_NOTHING_SELECTED = "No message is selected. Select one with Alt+Up, or give the beginning of its id."


class BaseHost:
    """The part of `Host` (see there) that has nothing to do with how things are shown."""

    log_view: MessageLog

    def __init__(
        self,
        view: Conversations,
        preferences: Preferences,
        theme_now: str | None = None,
        commands: Iterable[Command] = (),
    ) -> None:
        """Load the commands. `commands`: those that only this host has."""
        self.node = view.node
        self.view = view
        self.preferences = preferences
        self.theme_now = theme_now
        self.registry = load(commands)
        self.desktop = Workspace(view, preferences.level)

    @property
    def models(self) -> Mapping[str, ChannelModel]:
        return self.desktop.models

    @property
    def order(self) -> Sequence[str]:
        return self.desktop.order

    @property
    def channel(self) -> str:
        return self.desktop.shown

    @property
    def room(self) -> str:
        return channel_of(self.desktop.shown)

    @property
    def model(self) -> ChannelModel:
        return self.desktop.models[self.desktop.shown]

    @property
    def selection(self) -> str | None:
        model = self.desktop.models.get(self.desktop.shown)
        return None if model is None else model.selected

    def label(self, name: str) -> str:
        return clean_name(self.view.title(name))

    def badge(self, name: str) -> str:
        model, sync, partner = self.models[name], self.view.sync(name), self.view.partner(name)
        if partner is not None:
            words = talk_words(model.connection, partner, sync.unacked)
            several = len({channel_of(each) for each in self.order}) > 1
            return f"{words} in {clean_name(channel_of(name))}" if several else words
        alone = not any(person.online for person in self.view.people(name) if not person.own)
        return sync_words(model.connection, sync, model.catching_up, model.history, alone=alone)

    def find_message(self, prefix: str) -> str:
        prefix = prefix.strip().lower()
        if not prefix:
            if self.selection is None:
                raise CommandError(_NOTHING_SELECTED)
            return self.selection
        gaps = [message_id for message_id in self.model.timeline.gaps if message_id.startswith(prefix)]
        found = self.view.find_ids(self.channel, prefix, 3) + gaps
        if not found:
            raise CommandError(f"No message of this channel has an id that begins with {clean_name(prefix)}.")
        if len(found) > 1:
            raise CommandError(f"Several ids begin with {clean_name(prefix)}. Give more letters of it.")
        return found[0]

    def select(self, message_id: str) -> None:
        shown = self.view.message(self.channel, message_id)
        if shown is None:
            raise CommandError("That message is not in this log.")
        self.log_view.jump_to(shown.key, choose=True)

    def open_channel(self, name: str) -> str:
        channel = self.view.join(name, self.desktop.add_if_new)
        self.desktop.add_talks(channel)
        return channel

    def open_talk(self, place: str) -> str:
        if self.view.talk(place) is None:
            raise CommandError("There are no direct messages here.")
        self.desktop.add_if_new(place)
        return place

    def send(self, text: str, *, action: bool = False, reply_to: str = "") -> None:
        kind = ContentKind.ACTION if action else ContentKind.TEXT
        try:
            self.view.say(self.channel, text, kind, reply_to)
        except ValueError as error:
            raise CommandError(f"Not sent: {reason_text(error)}") from error

    def next_active(self) -> str | None:
        return self.desktop.next_active()

    def save_preferences(self) -> None:
        self.view.set_value(KEPT_AS, self.preferences.dumped())
