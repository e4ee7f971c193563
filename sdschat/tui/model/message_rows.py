"""Rows of the log, made from messages, with all that a row says beside the text."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any, Final

from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import Conversation, Key, Shown, Verdict
from sdschat.node.view.verifying import is_verified
from sdschat.tui.model.from_events import entry_of, mention_of
from sdschat.tui.model.items import Doubt, MessageItem, Quote, first_line
from sdschat.tui.model.own_fates import OwnFates
from sdschat.tui.model.timeline import Timeline
from sdschat.tui.model.words import clean_name, nick_text, short, tagged_nick, when

_QUOTED: Final = 80
_ON_ITS_WAY: Final = 60_000  # milliseconds that a message to one participant takes at most while both are here


class MessageRows:
    """Makes the rows of one conversation. `late`: ids of messages that came late, a set of the caller's. `words` count
    as the own nick does."""

    def __init__(
        self,
        view: Conversations,
        conversation: Conversation,
        timeline: Timeline,
        fates: OwnFates,
        late: Container[str],
        words: Sequence[str],
    ) -> None:
        self.conversation = conversation
        self._view = view
        self._timeline = timeline
        self._fates = fates
        self._late = late
        self._is_talk = conversation.partner() is not None
        self.watch_for(words)

    def watch_for(self, words: Sequence[str]) -> None:
        """Mark what has one of these words, or the nick of now, as said to the user."""
        self._mentions = mention_of(self._view.node.nick, *words)

    def after(self, mark: Key | None, most: int) -> list[MessageItem]:
        """Return the first messages after a place in the log, at most so many."""
        return [self.plain(shown) for shown in self.conversation.messages(after=mark or (0, ""), limit=most)]

    def above(self, key: Key) -> list[MessageItem]:
        """Return the message above a place in the log, if there is one."""
        return [self.plain(shown) for shown in self.conversation.messages(before=key, limit=1)]

    def plain(self, shown: Shown) -> MessageItem:
        """Return the row with nothing that has to be looked up, but for whose message it answers."""
        return self._row(shown, self._answered(shown.reply_to) if shown.reply_to else None)

    def _row(self, shown: Shown, answered: MessageItem | None, quote: Quote | None = None) -> MessageItem:
        """Return the row. An answer to a message of ours is to us, as one with our nick is."""
        entry = entry_of(shown, self._mentions, quote)
        shows = entry.readable and shown.verdict != Verdict.NOT_MEMBER
        to_us = answered is not None and answered.own and not entry.own and shows
        return replace(entry, mention=True) if to_us else entry

    def full(self, shown: Shown) -> MessageItem:
        answered = self._answered(shown.reply_to) if shown.reply_to else None
        entry = self._row(shown, answered, self._quote(shown.reply_to, answered) if shown.reply_to else None)
        changes: dict[str, Any] = {}
        if entry.own:
            changes["fate"] = self._fates.read(entry, self.conversation)
        if shown.message_id in self._late:
            changes["late"] = True
        if not entry.own and entry.nick and is_verified(self._view.node, entry.sender_id):
            changes["verified"] = True
            if entry.doubt is Doubt.NEW_KEY:
                changes |= {"remark": "", "doubt": Doubt.NONE}
        if self._is_talk and not entry.own and 0 < entry.sent_at < entry.received_at - _ON_ITS_WAY:
            # It stands where it came, by that time: its author wrote it while we, or they, were away.
            written = f"written {when(entry.sent_at, entry.received_at)}"
            changes["remark"] = ", ".join(filter(None, (changes.get("remark", entry.remark), written)))
        if tag := self._view.tag_of(entry.sender_id, entry.nick):
            changes["tag"] = clean_name(tag)
        return replace(entry, **changes) if changes else entry

    def _answered(self, message_id: str) -> MessageItem | None:
        entry = self._timeline.entries.get(message_id)
        if entry is None:
            shown = self.conversation.message(message_id)
            entry = None if shown is None else entry_of(shown, self._mentions)
        return entry

    def _quote(self, message_id: str, entry: MessageItem | None) -> Quote:
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
