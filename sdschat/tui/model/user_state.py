"""State of the user that outlives a run: drafts, read marks, and the history of the input."""

from __future__ import annotations

import json

from sdschat.node.view.conversations import Conversations
from sdschat.tui.model.workspace import Workspace

_PAST = "past"  # the name under which the store keeps the history of the input


class UserStateWriter:
    """Saves changes. If saving fails, it is tried again at the next save; the node reports the failure."""

    def __init__(self, view: Conversations, desktop: Workspace) -> None:
        self._view = view
        self._desktop = desktop
        self._drafts: dict[str, str] = {}
        self._saved: dict[str, str] = {}

    def draft(self, channel: str) -> str:
        """Return the draft of this channel."""
        if channel not in self._drafts:
            self._drafts[channel] = self._saved[channel] = self._view.conversation(channel).draft()
        return self._drafts[channel]

    def set_draft(self, channel: str, text: str) -> None:
        if channel:
            self._drafts[channel] = text

    def save(self) -> None:
        """Save drafts and read marks that have changed."""
        for name, text in self._drafts.items():
            if text != self._saved.get(name, "") and self._view.conversation(name).set_draft(text):
                self._saved[name] = text
        for model in self._desktop.models.values():
            model.save_mark()

    def input_history(self) -> list[str]:
        """Return the texts sent in earlier runs, newest last."""
        try:
            kept = json.loads(self._view.value(_PAST) or "[]")
        except ValueError:
            return []
        return [text for text in kept if isinstance(text, str)] if isinstance(kept, list) else []

    def save_input_history(self, texts: list[str]) -> None:
        if texts != self.input_history():
            self._view.set_value(_PAST, json.dumps(texts, ensure_ascii=False))
