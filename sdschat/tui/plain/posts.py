"""The posts of members' channels as lines: each when it appears, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from sdschat.node import events
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.items import MessageItem, Phase
from sdschat.tui.model.words import clean, count


class PostLines:
    """Writes posts, edits and states of delivery. A deletion is a note of the model already.

    A post that waits until we are a member is written when it is queued. It gets another id in the log, which the event
    of its delivery names, and is not written again.
    """

    def __init__(
        self,
        say_post: Callable[[ChannelModel, MessageItem], None],
        tell: Callable[[ChannelModel, str], None],
        say_state: Callable[[ChannelModel, str], None],
    ) -> None:
        self._say_post, self._tell, self._say_state = say_post, tell, say_state
        self._own: set[str] = set()  # own posts of this run that are written, by id
        self._queued: set[str] = set()  # those that wait
        self._held: dict[str, ChannelModel] = {}  # own posts that may be among those that waited

    def take_queued(self, model: ChannelModel) -> None:
        """Note the posts that wait since an earlier run."""
        for entry in model.timeline.messages():
            if entry.fate is not None and entry.fate.word and entry.fate.phase is Phase.QUEUED:
                self._queued.add(entry.message_id)

    def hear(self, model: ChannelModel, body: events.EventBody) -> None:
        match body:
            case events.PostSaid(post, late):
                if post.own and self._queued:
                    self._held[post.message_id] = model
                    asyncio.get_running_loop().call_soon(self._write_held)  # after all events of this turn
                else:
                    self._write(model, post.message_id, late=late and not post.own)
            case events.PostEdited(message_id, text):
                shown = model.conversation.message(message_id)
                if shown is not None and not shown.hidden:
                    who = model.name_of(shown.sender_id, shown.nick)
                    self._tell(model, f"{who} edited: {clean(text, lines=True)}")
            case events.PostDeleted(message_id):
                self._queued.discard(message_id)
            case events.CheckpointPassed(deleted=gone) if gone:
                is_are = "is" if gone == 1 else "are"
                self._tell(model, f"{count(gone, 'deleted post')} {is_are} gone from the disk here")
            case events.DeliveryChanged(message_id, state, _, _, was):
                self._delivery(model, message_id, state, was)

    def _delivery(self, model: ChannelModel, message_id: str, state: str, was: str) -> None:
        self._held.pop(message_id, None)
        if was:
            self._queued.discard(was)
            self._own.add(message_id)
        elif state == "queued":
            self._queued.add(message_id)
        self._write(model, message_id)
        self._say_state(model, message_id)

    def _write_held(self) -> None:
        """Write own posts that were not among those that waited, such as those of another device."""
        held, self._held = self._held, {}
        for message_id, model in held.items():
            self._write(model, message_id)

    def _write(self, model: ChannelModel, message_id: str, *, late: bool = False) -> None:
        """Write a post, once if it is our own. What is no post, such as an edit, is not in the log."""
        shown = model.conversation.message(message_id)
        if shown is None or shown.hidden or message_id in self._own:
            return
        if shown.own:
            self._own.add(message_id)
        entry = model.entry_for(shown)
        self._say_post(model, replace(entry, late=True) if late else entry)
