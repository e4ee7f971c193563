"""All channels that are open, which of them is looked at, and what wants attention."""

from __future__ import annotations

from collections.abc import Callable

from sdschat.node.catchup_facts import DirectSaid
from sdschat.node.facts import Fact, HostingChanged, MessageDelivered
from sdschat.node.places import Places, channel_of, peer_of, place_of
from sdschat.tui.model.channel import ChannelModel, Stir
from sdschat.tui.model.talk import TalkModel

EVERYTHING = Stir.ROWS | Stir.BADGES | Stir.PEOPLE | Stir.CONNECTION


class Desktop:
    """Facts go in, and come out as what there is to draw."""

    def __init__(self, view: Places, level: Callable[[str], str]) -> None:
        """`level` says of a channel whether everything in it is news, or mentions only, or nothing."""
        self.view = view
        self.models: dict[str, ChannelModel] = {}
        self.order: list[str] = []
        self.shown = ""
        self.beside = ""  # the other channel of a split
        self.hosting = False
        self.ring = False  # somebody spoke to us since this was last looked at
        self._level = level

    def add(self, name: str) -> ChannelModel:
        """At the end, a conversation too: the numbers by which the others are reached must not change by what somebody
        else does."""
        model = self.models[name] = (TalkModel if peer_of(name) else ChannelModel)(self.view, name)
        self.order.append(name)
        return model

    def add_talks(self, channel: str) -> None:
        """Conversations of an earlier run in which something is unread or on its way."""
        for peer in self.view.partners(channel):
            self.add_if_new(place_of(channel, peer))

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

    def hear(self, fact: Fact, looking: Callable[[str], bool]) -> bool:
        """Take a fact. True where something is to be drawn."""
        if isinstance(fact.what, HostingChanged):
            self.hosting = fact.what.hosting
        before = {name: model.mentions for name, model in self.models.items()} if _is_news(fact) else None
        concerned = self.concerned(fact)
        for model in concerned:
            model.hear(fact, looking(model.name))
            if before is not None:
                self._attend(model, before.get(model.name, 0))
        return any(model.stirred for model in concerned)

    def concerned(self, fact: Fact) -> list[ChannelModel]:
        """Whose fact it is. A conversation that somebody begins is listed by this."""
        what = fact.what
        if not fact.channel:
            return list(self.models.values())
        if fact.channel not in self.models:
            return []
        if isinstance(what, DirectSaid):
            name = place_of(fact.channel, what.to if what.own else what.sender_id)
            if self.view.talk(name) is None:  # in a recording
                return []
            self.add_if_new(name)
            return [self.models[name]]
        talks = [
            model for model in self.models.values() if isinstance(model, TalkModel) and model.channel == fact.channel
        ]
        message_id = getattr(what, "message_id", "")
        if message_id:  # of a message in a conversation the channel knows nothing
            owner = next((talk for talk in talks if talk.owns(message_id)), None)
            return [self.models[fact.channel]] if owner is None else [owner]
        return [self.models[fact.channel], *talks]

    def _attend(self, model: ChannelModel, mentions_before: int) -> None:
        level = self._level(model.name)
        if level == "none":
            model.mentions = mentions_before
        elif model.mentions > mentions_before:
            self.ring = True

    def counted(self, name: str) -> tuple[int, int]:
        """What is unread, and how much of it is addressed to us, as far as the person wants to know."""
        model, level = self.models[name], self._level(name)
        if level == "none":
            return 0, 0
        return (0 if level == "mentions" else model.unread), model.mentions

    def next_active(self) -> str | None:
        """The channel that wants attention most, but for the one that is shown."""
        others = [name for name in self.order if name != self.shown]
        for wanted in (1, 0):
            for name in others:
                if self.counted(name)[wanted]:
                    return name
        return None

    def talks_of(self, channel: str) -> list[str]:
        """The conversations that are held in a channel."""
        return [name for name in self.order if peer_of(name) and channel_of(name) == channel]

    def take_ring(self) -> bool:
        found, self.ring = self.ring, False
        return found


def _is_news(fact: Fact) -> bool:
    what = fact.what
    return (isinstance(what, MessageDelivered) and not what.said.own) or (isinstance(what, DirectSaid) and not what.own)
