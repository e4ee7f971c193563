"""What is kept of a person's side of things: drafts, where reading stopped, what was written."""

from __future__ import annotations

import json

from sdschat.node.places import Places
from sdschat.tui.model.desktop import Desktop

_PAST = "past"  # under this name what was written is kept


class Keeper:
    """Saves what has changed. What cannot be saved now is tried again: the node says aloud that nothing can be."""

    def __init__(self, view: Places, desktop: Desktop) -> None:
        self._view = view
        self._desktop = desktop
        self._drafts: dict[str, str] = {}
        self._saved: dict[str, str] = {}

    def draft(self, channel: str) -> str:
        """What stands in the input of this channel."""
        if channel not in self._drafts:
            self._drafts[channel] = self._saved[channel] = self._view.draft(channel)
        return self._drafts[channel]

    def set_draft(self, channel: str, text: str) -> None:
        if channel:
            self._drafts[channel] = text

    def save(self) -> None:
        """Drafts and read marks."""
        for name, text in self._drafts.items():
            if text != self._saved.get(name, "") and self._view.set_draft(name, text):
                self._saved[name] = text
        for model in self._desktop.models.values():
            model.save_mark()

    def past(self) -> list[str]:
        """What was written before, in earlier runs."""
        try:
            kept = json.loads(self._view.value(_PAST) or "[]")
        except ValueError:
            return []
        return [text for text in kept if isinstance(text, str)] if isinstance(kept, list) else []

    def save_past(self, texts: list[str]) -> None:
        if texts != self.past():
            self._view.set_value(_PAST, json.dumps(texts, ensure_ascii=False))
