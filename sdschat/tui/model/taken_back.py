"""Own posts of a members' channel that were taken back: the input history forgets them, in all their versions."""

from __future__ import annotations

from typing import Final

from sdschat.node.events import DeliveryChanged, NodeEvent, PostDeleted, PostEdited, PostSaid
from sdschat.tui.model.line_input import InputHistory
from sdschat.tui.model.words import clean

_KEPT: Final = 500  # posts; the history of the input has no more lines


class TakenBack:
    """Remembers the texts of own posts, and lets the history forget those of a post that is deleted."""

    def __init__(self, past: InputHistory) -> None:
        self._past = past
        self._texts: dict[str, list[str]] = {}

    def hear(self, event: NodeEvent) -> None:
        texts = self._texts
        match event.body:
            case PostSaid(post) if post.own:
                texts.setdefault(post.message_id, []).append(post.text)
                if len(texts) > _KEPT:
                    del texts[next(iter(texts))]
            case DeliveryChanged(message_id, was=was) if was in texts:
                texts[message_id] = texts.pop(was)
            case PostEdited(message_id, text) if message_id in texts:
                texts[message_id].append(text)
            case PostDeleted(message_id):
                for text in texts.pop(message_id, ()):
                    self._past.forget(clean(text, lines=True))
