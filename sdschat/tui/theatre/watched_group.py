"""Nodes of a local group on one screen, each with the model of its log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sdschat.node.events import NodeEvent
from sdschat.node.node import Node
from sdschat.node.tasks import start
from sdschat.node.tools.local_group import LocalGroup
from sdschat.node.view.conversations import Conversations
from sdschat.tui.model.channel import ChannelModel


class WatchedGroup:
    """The nodes and their models. `failed` is called with the error that ends a node."""

    def __init__(self, group: LocalGroup) -> None:
        self.group = group
        self.models: dict[str, ChannelModel] = {}
        self.failed: Callable[[Exception], object] = lambda error: None
        self._watching: list[asyncio.Task[object]] = []

    def watch(self, node: Node, hear_more: Callable[[NodeEvent], object] = lambda event: None) -> None:
        """Make the model of a node and keep it up with the node's events; `hear_more` gets them, too."""
        model = self.models[node.nick] = ChannelModel(Conversations(node), self.group.channel)
        model.open_at_end()

        def hear(event: NodeEvent) -> None:
            if event.channel in ("", self.group.channel):
                model.hear(event, True)
            hear_more(event)

        node.listen(hear)
        self._watching.append(start(_failure(node), lambda error: self.failed(error)))

    async def close(self) -> None:
        for task in self._watching:
            task.cancel()
        for model in self.models.values():
            model.view.close()
        await self.group.close()


async def _failure(node: Node) -> object:
    return await asyncio.shield(node.failed)
