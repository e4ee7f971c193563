"""Rows of the log, made from messages, with all that a row says beside the text."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Final

from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import Conversation, Shown
from sdschat.node.view.verifying import is_verified
from sdschat.tui.model.from_events import entry_of, mention_of, verdict_words
from sdschat.tui.model.items import MessageItem, Quote, first_line
from sdschat.tui.model.own_fates import OwnFates
from sdschat.tui.model.timeline import Timeline
from sdschat.tui.model.words import clean_name, nick_text, short, tagged_nick

_QUOTED: Final = 80


class MessageRows:
    """Makes the rows of one conversation. `late`: ids of messages that came late, a set of the caller's."""

    def __init__(
        self,
        view: Conversations,
        conversation: Conversation,
        timeline: Timeline,
        fates: OwnFates,
        late: Container[str],
    ) -> None:
        self.conversation = conversation
        self._view = view
        self._timeline = timeline
        self._fates = fates
        self._late = late
        self._mentions = mention_of(view.node.nick)

    def watch_for(self, words: Sequence[str]) -> None:
        """Mark what has one of these words, or the nick of now, as said to the user."""
        self._mentions = mention_of(self._view.node.nick, *words)

    def plain(self, shown: Shown) -> MessageItem:
        """Return the row with nothing that has to be looked up."""
        return entry_of(shown, self._mentions)

    def full(self, shown: Shown) -> MessageItem:
        quote = self._quote(shown.reply_to) if shown.reply_to else None
        entry = entry_of(shown, self._mentions, quote)
        changes: dict[str, object] = {}
        if entry.own:
            changes["fate"] = self._fates.read(entry, self.conversation)
        if shown.message_id in self._late:
            changes["late"] = True
        if not entry.own and entry.nick and is_verified(self._view.node, entry.sender_id):
            changes["verified"] = True
            if entry.remark == verdict_words("new"):
                changes["remark"] = ""
        if tag := self._view.tag_of(entry.sender_id, entry.nick):
            changes["tag"] = clean_name(tag)
        return replace(entry, **changes) if changes else entry  # type: ignore[arg-type]

    def _quote(self, message_id: str) -> Quote:
        entry = self._timeline.entries.get(message_id)
        if entry is None:
            shown = self.conversation.message(message_id)
            entry = None if shown is None else self.plain(shown)
        if entry is None:
            return Quote(message_id, "", "")
        return Quote(message_id, self.name_of(entry.sender_id, entry.nick), first_line(entry)[:_QUOTED])

    def name_of(self, sender_id: str | None, nick: str = "") -> str:
        """Return the name of a participant: the proven nick, or the beginning of the id in angle brackets."""
        if sender_id is None:
            return ""
        known = nick or nick_text(self._view.nick_of(sender_id) or self._presence_nick(sender_id))
        tag = self._view.tag_of(sender_id, known)
        return tagged_nick(known, tag) or f"<{short(sender_id, 8)}>"

    def _presence_nick(self, sender_id: str) -> str:
        return self._view.channel(self.conversation.channel).presence_nick(sender_id)
