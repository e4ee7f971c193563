"""The conversation of all participants of a channel: its log in the database, and what its engine knows.

Reads see everything that was told, since nothing is told before it is on disk.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sdschat.identity.content import ContentKind, Verdict, envelope_of
from sdschat.identity.signing import by_name
from sdschat.node.node import Node
from sdschat.node.view import live
from sdschat.node.view.tags import tag_of, tagged
from sdschat.node.view.user_texts import UserTexts, silent_nicks
from sdschat.node.view.values import Key, Lost, MissingMessage, OwnFate, Participant, Shown, SyncStatus
from sdschat.node.view.verifying import is_verified
from sdschat.store.display_rows import DisplayMessage
from sdschat.store.positions import Positions
from sdschat.store.reader import Reader

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.sync.extension import SyncExtension


_NICKS_KEPT: Final = 256


def _by_name(nick: str, sender_id: str) -> tuple[bool, str, str]:
    """Return the place of a participant in the order of names. Those without a name come last."""
    return not nick, by_name(nick), sender_id


class ChannelConversation:
    """A `Conversation` with everybody in the channel; it may be read before the channel is joined."""

    peer = ""

    def __init__(self, node: Node, reader: Reader, name: str) -> None:
        self.name = self.channel = name
        self._node = node
        self._reader = reader
        self._codec = node.profile.codec
        self._ranks = Positions(reader)
        self._state = UserTexts(node.profile.store)
        self._kept_nicks: dict[str, str] | None = None  # None: not read yet

    @property
    def session(self) -> ChannelSession | None:
        """Return the session of the channel; None if it is not joined."""
        return self._node.sessions.get(self.name)

    def extension(self) -> SyncExtension | None:
        """Return the extension that catches up in this channel and carries direct messages, or None. Nothing is
        imported for a channel that is not joined."""
        if self.session is None:
            return None
        from sdschat.node.sync.extension import sync_extension

        try:
            return sync_extension(self._node, self.name)
        except LookupError:
            return None

    def title(self) -> str:
        return self.name

    def tag(self) -> str:
        return ""

    def partner(self) -> Participant | None:
        return None

    def say(self, text: str, kind: ContentKind, reply_to: str) -> None:
        self._node.send(self.name, text, kind=kind, reply_to=reply_to)

    # The history.

    def messages(self, *, before: Key | None = None, after: Key | None = None, limit: int = 100) -> list[Shown]:
        found = self._reader.messages(self.name, before=before, after=after, limit=limit, with_raw=True)
        return [self._shown(message) for message in found]

    def message(self, message_id: str) -> Shown | None:
        found = self.uncovered(message_id)
        return None if found is None else self.covered(found)

    def uncovered(self, message_id: str) -> Shown | None:
        """Return a message with its text, also where nothing of its author is shown."""
        detail = self._reader.message(self.name, message_id, ancestors=0)
        return None if detail is None else self._shown(detail.message)

    def covered(self, shown: Shown) -> Shown:
        """Return a message without its text if nothing of its author is shown: it is listed nowhere, and may be
        answered by others."""
        why = self.hidden(shown.sender_id)
        if not why and self._node.gate.is_hidden(shown.sender_id):
            why = "a new key, not shown yet"
        return shown._replace(text=None, hidden=why) if why else shown

    def search(
        self, words: str, *, limit: int = 50, before: Key | None = None, after: Key | None = None
    ) -> list[Shown]:
        """Search as `Conversation` says. The last word may be a beginning; with `after` the oldest messages are
        found."""
        found = self._reader.messages(self.name, search=words, limit=limit, before=before, after=after, with_raw=True)
        return [self._shown(message) for message in found]

    def find_ids(self, prefix: str, limit: int = 10) -> list[str]:
        for typed in dict.fromkeys((prefix, prefix.lower())):  # ids of other programs may have capital letters
            found = self._reader.find_ids(self.name, typed, limit)
            if not found and self.session is not None:
                waiting = self.session.channel.state.incoming.buffered
                found = [message_id for message_id in waiting if message_id.startswith(typed)][:limit]
            if found:
                return found
        return []

    def raw(self, message_id: str) -> bytes | None:
        """Return the packet of a message as it came."""
        detail = self._reader.message(self.name, message_id, ancestors=0)
        return None if detail is None else detail.message.raw

    def count(self) -> int:
        return self._ranks.count(self.name)

    def rank(self, message_id: str) -> int:
        return self._ranks.rank(self.name, message_id)

    def at_rank(self, rank: int) -> Key | None:
        return self._ranks.at_rank(self.name, rank)

    def dated(self, moment: int) -> Key | None:
        return self._ranks.dated(self.name, moment)

    def _shown(self, stored: DisplayMessage) -> Shown:
        kind, reply_to, twice = 0, "", False
        other_copy = ""
        if stored.verdict == Verdict.UNSIGNED:
            from sdschat.node.channel.copies import difference_to_copy  # needed once messages are shown

            other_copy = difference_to_copy(self._reader, self.name, stored.message_id)
        envelope = envelope_of(self._codec, stored.raw)
        if envelope is not None:
            from sdschat.node.channel.author_chains import said_twice  # likewise

            kind, reply_to = envelope.kind, envelope.reply_to
            twice = said_twice(self._reader, self.name, stored.sender_id, envelope.place)
        return Shown(
            stored.message_id,
            stored.lamport,
            stored.sender_id,
            stored.nick or "",
            stored.text,
            stored.verdict or "",
            stored.own,
            stored.received_at,
            stored.sent_at or 0,
            stored.via,
            kind,
            reply_to,
            stored.dependencies,
            stored.state,
            stored.damaged,
            twice=twice,
            other_copy=other_copy,
        )

    # What the engine knows.

    def remembered(self, message_id: str) -> OwnFate | None:
        """Return the fate as `Conversation` says; in a channel that is not joined yet, as it is on disk for the engine
        to find."""
        session = self.session
        return self._saved(message_id) if session is None else live.fate(session, message_id, self._node.clock.now())

    def own(self, message_id: str) -> OwnFate | None:
        return self.remembered(message_id) or self._saved(message_id)

    def _saved(self, message_id: str) -> OwnFate | None:
        detail = self._reader.message(self.name, message_id, ancestors=0)
        row = None if detail is None else detail.outgoing
        return None if row is None else OwnFate(row.state, row.sends, 0, row.evidence)

    def open_messages(self) -> list[str]:
        session = self.session
        return [] if session is None else list(session.channel.state.outgoing.open)

    def missing(self) -> list[MissingMessage]:
        session = self.session
        return live.missing(session, self._node.clock.now()) if session is not None and session.speaks else []

    def lost(self) -> dict[str, Lost]:
        session = self.session
        return {} if session is None else live.lost(session)

    def sync(self) -> SyncStatus:
        session = self.session
        return SyncStatus(0, 0, 0, 0) if session is None else live.sync(session, self._node.clock.now())

    def history_since(self) -> int:
        extension = self.extension()
        return 0 if extension is None else extension.catchup.since

    def people(self) -> list[Participant]:
        session = self.session
        if session is None:
            return []
        found = live.people(session, self._node.sender_id, self._node.nick, self._node.clock.now())
        named = [
            person._replace(
                nick=person.nick or self.nick_of(person.sender_id) or self.presence_nick(person.sender_id),
                verified=is_verified(self._node, person.sender_id),
                hidden=self.hidden(person.sender_id),
            )
            for person in found
        ]
        named = tagged(self._node, named)
        here = [person for person in named if person.online]
        here.sort(key=lambda person: (not person.own, *_by_name(person.nick, person.sender_id)))
        return [*here, *(person for person in named if not person.online)]

    def hidden(self, sender_id: str) -> str:
        """Return if a participant is ignored or muted, in a word; else an empty text."""
        gate = self._node.gate
        return "ignored" if gate.is_ignored(sender_id) else "muted" if gate.is_muted(sender_id) else ""

    def present(self) -> tuple[str, ...]:
        session = self.session
        if session is None:
            return ()
        here = {one: nick for one, nick in session.presence.online.items() if not session.is_outsider(one)}
        names = {one: nick or self.nick_of(one) or self.presence_nick(one) for one, nick in here.items()}
        return tuple(sorted(names, key=lambda one: _by_name(names[one], one)))

    def nick_of(self, sender_id: str) -> str:
        """Return the nick that this sender proved to go by last; empty for a sender who never signed anything."""
        return self._node.nick if sender_id == self._node.sender_id else self._node.gate.nick_of(sender_id)

    def tag_of(self, sender_id: str, nick: str) -> str:
        """Return the beginning of an id, where another key goes by this nick; else an empty text."""
        return tag_of(self._node, sender_id, nick)

    def presence_nick(self, sender_id: str) -> str:
        """Return the nick of a participant who is or was here, as their presence proved it, also in an earlier run;
        empty where none did."""
        session = self.session
        if session is None or session.is_outsider(sender_id):
            return ""
        return session.presence.nick_of(sender_id) or self._nicks_of_before().get(sender_id, "")

    def keep_nicks(self) -> None:
        """Save the nicks of those who were heard and said nothing: nobody else remembers what their presence proved."""
        session = self.session
        if session is None:
            return
        before, known = self._nicks_of_before(), session.channel.state.peers.known
        silent = [sender_id for sender_id in known if not self.nick_of(sender_id)]
        named = {sender_id: nick for sender_id in silent if (nick := self.presence_nick(sender_id))}
        kept = dict([*named.items()][-_NICKS_KEPT:])
        if kept != before and self._state.set_value(f"nicks.{self.name}", json.dumps(kept, ensure_ascii=False)):
            self._kept_nicks = kept

    def _nicks_of_before(self) -> dict[str, str]:
        if self._kept_nicks is None:
            self._kept_nicks = silent_nicks(self._state.store.value, self.name)
        return self._kept_nicks

    # State of the user.

    def draft(self) -> str:
        return self._state.store.draft(self.name)

    def set_draft(self, text: str) -> bool:
        return self._state.save(lambda change: change.set_draft(self.name, text, self._node.clock.now().wall))

    def read_mark(self) -> Key | None:
        mark = self._state.store.read_mark(self.name)
        return None if mark is None else (mark.lamport, mark.message_id)

    def mark_read(self, key: Key) -> bool:
        below = self._state.store.first_below(self.name, *key)
        return self._state.save(
            lambda change: change.set_read_mark(self.name, *key, self._node.clock.now().wall, below)
        )

    def unread(self) -> int:
        return self._state.store.unread(self.name)
