"""The view of a node for an interface: channels, and the conversations of two participants held in them.

A conversation goes by a name of its own (`conversation_id`) where an interface names a channel: reading, searching,
drafts, where reading stopped. What is asked of the channel behind it, the connection or the people, is the channel's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.identity.content import ContentKind
from sdschat.node.node import Node
from sdschat.node.view.channel import NodeView
from sdschat.node.view.direct import DirectConversation
from sdschat.node.view.values import Key, Lost, MissingMessage, OwnFate, Participant, Shown, Sync
from sdschat.store.user_state import ReadMark

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.sync.direct import DirectMessaging
    from sdschat.node.sync.extension import SyncExtension
    from sdschat.node.sync.history_sync import HistorySync
    from sdschat.sds.state import ChannelState

_SIGN = "\x1f"  # in the name of no channel
_SHORT = 8
_NONE = "There are no direct messages here."


def conversation_id(channel: str, peer: str) -> str:
    """The name of the conversation with a participant of a channel."""
    return f"{channel}{_SIGN}{peer}"


def channel_of(place: str) -> str:
    """The channel itself, or the one that a conversation is held in."""
    return place.partition(_SIGN)[0]


def peer_of(place: str) -> str:
    """The sender id of who a conversation is with; empty for a channel."""
    return place.partition(_SIGN)[2]


def sync_part(node: Node, channel: str) -> SyncExtension:
    """Return the sync extension of a joined channel. Raises LookupError for every other channel, without importing
    anything for it."""
    if channel not in node.rooms:
        raise LookupError(channel)
    from sdschat.node.sync import extension

    return extension.sync_part(node, channel)


class Conversations(NodeView):
    """A `NodeView` whose channels may be conversations."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._talks: dict[str, DirectConversation] = {}

    # Conversations.

    def talk(self, place: str) -> DirectConversation | None:
        """The conversation of this name; none for a channel, and where direct messages are not to be had."""
        peer = peer_of(place)
        if not peer:
            return None
        found = self._talks.get(place)
        if found is None:
            direct = self._direct(place)
            if direct is None:
                return None
            found = self._talks[place] = DirectConversation(direct, self.node.sender_id, peer)
        return found

    def _part(self, place: str) -> SyncExtension | None:
        """Return the extension that catches up in this channel and carries direct messages, or None."""
        try:
            return sync_part(self.node, channel_of(place))
        except LookupError:
            return None

    def _direct(self, place: str) -> DirectMessaging | None:
        part = self._part(place)
        return None if part is None else part.direct

    def find_person(self, channel: str, name: str) -> str:
        """The sender id behind a nick or an id. Raises ValueError with a sentence."""
        direct = self._direct(channel)
        if direct is None:
            raise ValueError(_NONE)
        return direct.people.find(name).sender_id

    def partners(self, channel: str) -> list[str]:
        """Whom there is something to read or to wait for with: sender ids."""
        return [
            peer
            for peer in reversed(self.all_partners(channel))
            if self.unread(conversation_id(channel, peer)) or self._waiting(channel, peer)
        ]

    def all_partners(self, channel: str) -> list[str]:
        """Whom something was said with lately, the last one first."""
        direct = self._direct(channel)
        newest = [] if direct is None else direct.messages.newest()
        return list(dict.fromkeys(row.peer for row in reversed(newest)))

    def _waiting(self, channel: str, peer: str) -> bool:
        talk = self.talk(conversation_id(channel, peer))
        return talk is not None and bool(talk.waiting())

    def title(self, place: str) -> str:
        """Return the title of a channel or conversation: the channel's name, or the name of the other participant.
        Not sanitized: clean it before showing."""
        peer = peer_of(place)
        return place if not peer else f"@{self._name(place, peer)}"

    def _name(self, place: str, peer: str) -> str:
        return self.presence_nick(place, peer) or self.nick_of(peer) or f"<{peer[:_SHORT]}>"

    def partner(self, place: str) -> Participant | None:
        """Return the other participant of a conversation; None for a channel."""
        peer = peer_of(place)
        if not peer:
            return None
        known = next((person for person in super().people(channel_of(place)) if person.sender_id == peer), None)
        return known or Participant(peer, self.nick_of(peer), False, 0, False)

    def say(self, place: str, text: str, kind: ContentKind, reply_to: str) -> None:
        """To a channel, or to the one other of a conversation. Raises ValueError with a sentence."""
        talk = self.talk(place)
        if talk is not None:
            talk.say(text, kind, reply_to)
        elif peer_of(place):
            raise ValueError(_NONE)
        else:
            self.node.send(place, text, kind=kind, reply_to=reply_to)

    # Catching up on what was said before.

    def catchup(self, channel: str) -> HistorySync | None:
        """Return the history sync of the channel; None if the channel has none."""
        part = self._part(channel)
        return None if part is None else part.catchup

    def history_since(self, channel: str) -> int:
        """From which moment on the channel's history is wanted here; 0: all of it, as far as we know."""
        found = None if peer_of(channel) else self.catchup(channel)
        return 0 if found is None else found.since

    # The history.

    def messages(
        self, channel: str, *, before: Key | None = None, after: Key | None = None, limit: int = 100
    ) -> list[Shown]:
        talk = self.talk(channel)
        if talk is None:
            return super().messages(channel, before=before, after=after, limit=limit)
        return talk.messages(before, after, limit)

    def message(self, channel: str, message_id: str) -> Shown | None:
        talk = self.talk(channel)
        return super().message(channel, message_id) if talk is None else talk.message(message_id)

    def search(
        self, channel: str, words: str, *, limit: int = 50, before: Key | None = None, after: Key | None = None
    ) -> list[Shown]:
        talk = self.talk(channel)
        if talk is None:
            return super().search(channel, words, limit=limit, before=before, after=after)
        return talk.search(words, limit)

    def find_ids(self, channel: str, prefix: str, limit: int = 10) -> list[str]:
        talk = self.talk(channel)
        return super().find_ids(channel, prefix, limit) if talk is None else talk.find_ids(prefix, limit)

    def raw(self, channel: str, message_id: str) -> bytes | None:
        return super().raw(channel_of(channel), message_id)

    def count(self, channel: str) -> int:
        talk = self.talk(channel)
        return super().count(channel) if talk is None else talk.count()

    def rank(self, channel: str, message_id: str) -> int:
        talk = self.talk(channel)
        return super().rank(channel, message_id) if talk is None else talk.rank(message_id)

    def at_rank(self, channel: str, rank: int) -> Key | None:
        talk = self.talk(channel)
        return super().at_rank(channel, rank) if talk is None else talk.at_rank(rank)

    def dated(self, channel: str, lamport: int) -> Key | None:
        talk = self.talk(channel)
        return super().dated(channel, lamport) if talk is None else talk.dated(lamport)

    # What the engine knows.

    def room(self, channel: str) -> ChannelSession | None:
        return super().room(channel_of(channel))

    def engine(self, channel: str) -> ChannelState:
        return super().engine(channel_of(channel))

    def remembered(self, channel: str, message_id: str) -> OwnFate | None:
        talk = self.talk(channel)
        return super().remembered(channel, message_id) if talk is None else talk.fate(message_id)

    def own(self, channel: str, message_id: str) -> OwnFate | None:
        talk = self.talk(channel)
        return super().own(channel, message_id) if talk is None else talk.fate(message_id)

    def missing(self, channel: str) -> list[MissingMessage]:
        return [] if peer_of(channel) else super().missing(channel)

    def lost(self, channel: str) -> dict[str, Lost]:
        return {} if peer_of(channel) else super().lost(channel)

    def sync(self, channel: str) -> Sync:
        talk = self.talk(channel)
        if talk is None:
            return super().sync(channel_of(channel))
        waiting = talk.waiting()
        fates = [talk.fate(message_id) for message_id in waiting]
        return Sync(0, 0, 0, len(waiting), sum(1 for fate in fates if fate is not None and not fate.sends))

    def people(self, channel: str) -> list[Participant]:
        partner = self.partner(channel)
        found = super().people(channel)
        return found if partner is None else [*(person for person in found if person.own), partner]

    def presence_nick(self, channel: str, sender_id: str) -> str:
        return super().presence_nick(channel_of(channel), sender_id)

    def open_messages(self, channel: str) -> list[str]:
        talk = self.talk(channel)
        return super().open_messages(channel) if talk is None else talk.waiting()

    async def part(self, channel: str) -> None:
        """A conversation is merely not looked at any more."""
        if not peer_of(channel):
            await super().part(channel)
            for place in [place for place in self._talks if channel_of(place) == channel]:
                del self._talks[place]

    # What is this person's alone.

    def draft(self, channel: str) -> str:
        return self.value(f"draft/{channel}") if peer_of(channel) else super().draft(channel)

    def set_draft(self, channel: str, text: str) -> bool:
        return self.set_value(f"draft/{channel}", text) if peer_of(channel) else super().set_draft(channel, text)

    def read_mark(self, channel: str) -> ReadMark | None:
        talk = self.talk(channel)
        if talk is None:
            return super().read_mark(channel)
        kept = self.value(f"read/{channel}")
        key = talk.key_of(kept)
        return None if key is None else ReadMark(*key, 0, 0)

    def mark_read(self, channel: str, key: Key) -> bool:
        return self.set_value(f"read/{channel}", key[1]) if peer_of(channel) else super().mark_read(channel, key)

    def unread(self, channel: str) -> int:
        talk = self.talk(channel)
        return super().unread(channel) if talk is None else talk.unread(self.value(f"read/{channel}"))
