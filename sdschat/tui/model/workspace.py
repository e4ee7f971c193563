"""All open channels and conversations: the one that is shown, and those that need attention."""

from __future__ import annotations

from collections.abc import Callable

from sdschat.node.events import HostingChanged, MessageDelivered, NodeEvent
from sdschat.node.sync.events import DirectSaid
from sdschat.node.view.conversation import conversation_id, split_id
from sdschat.node.view.conversations import Conversations
from sdschat.tui.model.channel import ChannelModel, ModelChange
from sdschat.tui.model.talk import TalkModel

EVERYTHING = ModelChange.ROWS | ModelChange.BADGES | ModelChange.PEOPLE | ModelChange.CONNECTION


class Workspace:
    """The open channels. Takes events of the node, and passes each to the models that it concerns."""

    def __init__(self, view: Conversations, level: Callable[[str], str]) -> None:
        """`level` returns, for a channel, which messages are news: all, mentions or none."""
        self.view = view
        self.models: dict[str, ChannelModel] = {}
        self.order: list[str] = []
        self.shown = ""
        self.beside = ""  # the other channel of a split
        self.hosting = False
        self.ring = False  # a mention came since `take_ring` was last called
        self._level = level

    def add(self, name: str) -> ChannelModel:
        """Add a channel or conversation at the end, so that the numbers of the others (Alt+1 to Alt+9) do not change
        because a participant begins a conversation."""
        model = self.models[name] = (TalkModel if split_id(name)[1] else ChannelModel)(self.view, name)
        self.order.append(name)
        return model

    def add_talks(self, channel: str) -> None:
        """List the conversations of an earlier run that have unread messages or unacknowledged ones."""
        for peer in self.view.partners(channel):
            self.add_if_new(conversation_id(channel, peer))

    def add_if_new(self, name: str) -> None:
        if name not in self.models:
            self.add(name)

    def remove(self, name: str) -> None:
        del self.models[name]
        self.order.remove(name)

    def show(self, name: str) -> ChannelModel:
        before = self.models.get(self.shown)
        if before is not None and self.shown != name:
            before.leave()
        self.shown = name
        return self.models[name]

    def hear(self, event: NodeEvent, looking: Callable[[str], bool]) -> bool:
        """Take an event. Return True if something has to be drawn."""
        if isinstance(event.body, HostingChanged):
            self.hosting = event.body.hosting
        before = {name: model.mentions for name, model in self.models.items()} if _is_news(event) else None
        concerned = self.concerned(event)
        for model in concerned:
            model.hear(event, looking(model.name))
            if before is not None:
                self._attend(model, before.get(model.name, 0))
        return any(model.changes for model in concerned)

    def concerned(self, event: NodeEvent) -> list[ChannelModel]:
        """Return the models that an event concerns. A conversation that a participant begins is added to the list."""
        body = event.body
        if not event.channel:
            return list(self.models.values())
        if event.channel not in self.models:
            return []
        if isinstance(body, DirectSaid):
            name = conversation_id(event.channel, body.to if body.own else body.sender_id)
            try:
                self.add_if_new(name)
            except ValueError:  # a recording has no direct messages
                return []
            return [self.models[name]]
        talks = [
            model
            for model in self.models.values()
            if isinstance(model, TalkModel) and model.conversation.channel == event.channel
        ]
        message_id = getattr(body, "message_id", "")
        if message_id:  # the channel does not know the messages of its conversations
            owner = next((talk for talk in talks if talk.owns(message_id)), None)
            return [self.models[event.channel]] if owner is None else [owner]
        return [self.models[event.channel], *talks]

    def _attend(self, model: ChannelModel, mentions_before: int) -> None:
        level = self._level(model.name)
        if level == "none":
            model.mentions = mentions_before
        elif model.mentions > mentions_before:
            self.ring = True

    def counted(self, name: str) -> tuple[int, int]:
        """Return the numbers of unread messages and of mentions that the user wants to be told of."""
        model, level = self.models[name], self._level(name)
        if level == "none":
            return 0, 0
        return (0 if level == "mentions" else model.unread), model.mentions

    def next_active(self) -> str | None:
        """Return the channel that needs attention most, except the one that is shown."""
        others = [name for name in self.order if name != self.shown]
        for wanted in (1, 0):
            for name in others:
                if self.counted(name)[wanted]:
                    return name
        return None

    def talks_of(self, channel: str) -> list[str]:
        """Return the conversations of a channel."""
        held = {name: self.models[name].conversation for name in self.order}
        return [name for name, each in held.items() if each.peer and each.channel == channel]

    def take_ring(self) -> bool:
        found, self.ring = self.ring, False
        return found


def _is_news(event: NodeEvent) -> bool:
    body = event.body
    return (isinstance(body, MessageDelivered) and not body.said.own) or (isinstance(body, DirectSaid) and not body.own)
