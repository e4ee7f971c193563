"""All channels that are open, which of them is looked at, and what wants attention."""

from __future__ import annotations

from collections.abc import Callable

from sdschat.node.facts import Fact, HostingChanged, MessageDelivered
from sdschat.node.view import NodeView
from sdschat.tui.model.channel import ChannelModel, Stir

EVERYTHING = Stir.ROWS | Stir.BADGES | Stir.PEOPLE | Stir.CONNECTION


class Desktop:
    """Facts go in, and come out as what there is to draw."""

    def __init__(self, view: NodeView, level: Callable[[str], str]) -> None:
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
        model = self.models[name] = ChannelModel(self.view, name)
        self.order.append(name)
        return model

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
        concerned = [self.models[fact.channel]] if fact.channel in self.models else []
        if not fact.channel:
            concerned = list(self.models.values())
        for model in concerned:
            before = model.mentions
            model.hear(fact, looking(model.name))
            if isinstance(fact.what, MessageDelivered) and not fact.what.said.own:
                self._attend(model, before)
        return any(model.stirred for model in concerned)

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

    def take_ring(self) -> bool:
        found, self.ring = self.ring, False
        return found
