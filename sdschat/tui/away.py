"""An absence of the user, in another window: what came meanwhile, told in a line at the return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sdschat.node.events import NodeEvent, ev
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.words import count, duration, listed

_LEAST: Final = 60_000  # milliseconds; who was away for less has seen nothing pass


class Away:
    """One absence."""

    def __init__(self, models: Mapping[str, ChannelModel], now: int) -> None:
        self._since = now
        self._before = {name: (model.unread, model.mentions) for name, model in models.items()}
        self._healed = self._lost = 0

    def hear(self, event: NodeEvent) -> None:
        match event.body:
            case ev.GapClosed():
                self._healed += 1
            case ev.DependenciesLost(dependencies):
                self._lost += len(dependencies)

    def told(self, models: Mapping[str, ChannelModel], now: int) -> str:
        """Return a line about it; empty if it was short, or nothing happened."""
        lines = to_user = 0
        people: dict[str, None] = {}
        for name, model in models.items():
            unread, mentions = self._before.get(name, (0, 0))
            lines += max(0, model.unread - unread)
            to_user += max(0, model.mentions - mentions)
            for entry in model.timeline.messages():
                if not entry.own and entry.received_at >= self._since:
                    people[model.name_of(entry.sender_id, entry.nick)] = None
        if now - self._since < _LEAST or not (lines or self._healed or self._lost):
            return ""
        by = f" by {listed(list(people))}" if people else ""
        parts = [f"{count(lines, 'message')}{by}"] if lines else []
        parts += [f"{to_user} to you"] if to_user else []
        parts += [f"{count(self._healed, 'gap')} healed"] if self._healed else []
        parts += [f"{count(self._lost, 'message')} lost"] if self._lost else []
        keys = "Alt+U first unread, Alt+A next channel" if lines else "F2 tells more"
        return f"while you were away ({duration(now - self._since)}): {', '.join(parts)} | {keys}"
