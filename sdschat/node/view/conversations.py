"""The view of a node for an interface: its conversations, by name, and what concerns a whole channel or the node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sdschat.node.channel.strangers import strangers_of
from sdschat.node.channel.strangers_share import Stranger, named_strangers
from sdschat.node.events import DirectSaid, MessageDelivered
from sdschat.node.members.events import PostSaid
from sdschat.node.node import Node
from sdschat.node.private.record import is_link
from sdschat.node.sync.people import DirectPeers
from sdschat.node.view.channel import ChannelConversation
from sdschat.node.view.direct import DirectConversation, Way
from sdschat.node.view.members import MembersConversation, has_members
from sdschat.node.view.private import privacy
from sdschat.node.view.tags import tag_of
from sdschat.node.view.user_texts import UserTexts
from sdschat.node.view.values import Conversation, conversation_id, peer_of
from sdschat.sds.values import Now
from sdschat.store.direct import unacknowledged
from sdschat.transport.base import normal_channel

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.node.sync.direct import DirectMessaging
    from sdschat.node.sync.history_sync import HistorySync
    from sdschat.sds.state import ChannelState

_NONE = "There are no direct messages here."


class Conversations:
    """One for an interface. To be closed before the node is."""

    def __init__(self, node: Node, *, guest: bool = False, recorded: str = "") -> None:
        """`guest`: whoever looks has no terminal on this machine. `recorded`: why nothing can be sent; empty for a node
        that is no recording."""
        self.node = node
        self.guest = guest
        self.recorded = recorded
        store = node.profile.store
        self._reader = store.open_read_only(store.path, node.profile.codec)
        self._state = UserTexts(store)
        self._channels: dict[str, ChannelConversation] = {}
        self._direct: dict[str, DirectConversation] = {}

    def close(self) -> None:
        self._reader.close()

    def unsaved_texts(self) -> list[str]:
        """Return the user's own texts that were taken and could not be saved: so they are sent to nobody yet."""
        found = []
        for body in (body for batch in self.node.unsaved for body in batch.events):
            match body:
                case MessageDelivered(said) if said.own:
                    found.append(said.opened.text or "")
                case PostSaid(post) if post.own:
                    found.append(post.text)
                case DirectSaid(opened=opened, own=True):
                    found.append(opened.text or "")
        return found

    def now(self) -> Now:
        return self.node.clock.now()

    # Conversations.

    def conversation(self, name: str) -> Conversation:
        """Return the channel, or the conversation of two, with this name. Raises ValueError if it is one of two and
        the node has no direct messages."""
        return self.direct(name) if peer_of(name) else self.channel(name)

    def channel(self, name: str) -> ChannelConversation:
        """Return the conversation of all participants of this channel."""
        found = self._channels.get(name)
        kind = MembersConversation if has_members(self.node, name) else ChannelConversation
        if type(found) is not kind:
            found = self._channels[name] = kind(self.node, self._reader, name)
        assert found is not None
        return found

    def direct(self, name: str) -> DirectConversation:
        """Return the conversation of two with this name. Raises ValueError if the node has no direct messages."""
        found = self._direct.get(name)
        if found is None:
            if not self._ways():
                raise ValueError(_NONE)
            peer = peer_of(name)
            found = self._direct[name] = DirectConversation(name, self._ways, self.node.sender_id, peer, self._state)
        return found

    def _ways(self) -> list[Way]:
        """Return the open channels that carry direct messages."""
        found = ((self.channel(name), self._messaging(name)) for name in self.node.sessions)
        return [Way(channel, messaging) for channel, messaging in found if messaging is not None]

    def _messaging(self, channel: str) -> DirectMessaging | None:
        extension = self.channel(channel).extension()
        return None if extension is None else extension.direct

    def find_person(self, channel: str, text: str) -> tuple[str, str]:
        """Return the sender id behind the nick or the id in front of a text, and the rest of the text. Who is here in
        this channel or in another open one is found. Raises ValueError with a sentence."""
        if self._messaging(channel) is None:
            raise ValueError(_NONE)
        others = [session.presence for name, session in self.node.sessions.items() if name != channel]
        people = DirectPeers(self.node.sessions[channel].presence, self.node.gate, others)
        name, rest = people.split(text)
        return people.find(name).sender_id, rest

    def strangers(self, channel: str) -> list[Stranger]:
        """Return the new keys that wait in a channel until they are opened, the one heard last first."""
        session = self.session(channel)
        return [] if session is None else strangers_of(session)

    def open_strangers(self, channel: str, name: str) -> int:
        """Show what strangers of a channel say: one of them, by nick or the beginning of an id, or `all`. Return their
        number. Raises ValueError with a sentence."""
        found = named_strangers(self.strangers(channel), name)
        self.node.open_strangers(one.sender_id for one in found)
        return len(found)

    def partners(self, channel: str) -> list[str]:
        """Return the participants with whom something is unread or unacknowledged, and with whom something was said in
        this channel: sender ids."""
        messaging = self._messaging(channel)
        newest = [] if messaging is None else messaging.messages.newest()
        found = [self.direct(conversation_id(peer)) for peer in dict.fromkeys(row.peer for row in newest)]
        return [each.peer for each in found if each.unread() or each.sync().unacked]

    def all_partners(self) -> list[str]:
        """Return the participants with whom something was said lately, the last one first: sender ids."""
        newest = [row for way in self._ways() for row in way.messaging.messages.newest()]
        newest.sort(key=lambda row: row.received_at)
        return list(dict.fromkeys(row.peer for row in reversed(newest)))

    def nick_of(self, sender_id: str) -> str:
        """Return the nick that this sender proved to go by last; empty for a sender who never signed anything."""
        return self.node.nick if sender_id == self.node.sender_id else self.node.gate.nick_of(sender_id)

    def tag_of(self, sender_id: str, nick: str) -> str:
        """Return the beginning of a sender id, where another key goes by this nick or by one that looks like it; else
        an empty text. Nothing but its id tells such a participant from the other one."""
        return tag_of(self.node, sender_id, nick)

    # A channel: its session, its engine, its connection.

    def session(self, channel: str) -> ChannelSession | None:
        return self.node.sessions.get(channel)

    def engine(self, channel: str) -> ChannelState:
        """Return the engine's own state, to look at."""
        return self.node.sessions[channel].channel.state

    def catchup(self, channel: str) -> HistorySync | None:
        """Return the history sync of the channel; None if the channel has none."""
        extension = self.channel(channel).extension()
        return None if extension is None else extension.catchup

    def resend(self, channel: str, ids: Iterable[str]) -> int:
        """Send these own messages again now. Return the number of messages sent again."""
        session, now = self.session(channel), self.now()
        if session is None:
            return 0
        found = sum(session.channel.resend(now, message_id) for message_id in ids)
        session.mark_ready()
        return found

    def faults(self, channel: str) -> str:
        """Return the faults injected on this channel's connection, in words; empty if there are none."""
        session = self.session(channel)
        faults = None if session is None else getattr(session.transport, "faults", None)
        return str(faults) if faults is not None and faults.active else ""

    def connected(self, channel: str) -> bool:
        session = self.session(channel)
        return session is not None and session.transport.connected

    def retry_now(self, channel: str) -> None:
        session = self.session(channel)
        if session is not None:
            session.transport.retry_now()

    def written(self, name: str) -> str:
        """Return the name of a channel as it is written everywhere; a link stands for the name of its channel. Raises
        ValueError for an invalid name or link."""
        return normal_channel(self.node.named(name))

    def join(self, name: str, before: Callable[[str], None]) -> str:
        """Join a channel; `before` gets its name as it is written everywhere, before anything of it is told.
        Raises ValueError for an invalid name."""
        channel = self.written(name)
        before(channel)
        return self.node.join(channel).name

    async def part(self, name: str) -> None:
        """Leave a channel; a conversation of two is merely not looked at any more."""
        if not peer_of(name):
            await self.node.part(name)

    async def leave_if_removed(self, link: str) -> None:
        """Leave the channel of a link if it is open and we are no member of it any more, so that the link is used when
        it is joined again."""
        channel = self.written(link)
        state = privacy(self.node, channel)
        if is_link(link) and state is not None and not state.is_member:
            await self.node.part(channel)

    def unacknowledged(self, channel: str) -> int:
        """Return the number of our messages to one participant alone that go by this channel and are not there yet."""
        return unacknowledged(self.node.profile.store, channel)

    # The user.

    def set_nick(self, nick: str) -> None:
        """Go by another nick, also at the next start. Raises ValueError for an invalid one."""
        self.node.rename(nick)
        key, known = self.node.profile.identity.public_key, self.node.gate.book.row(self.node.sender_id)
        first_seen = self.now().wall if known is None else known.first_seen
        self._state.save(lambda transaction: transaction.put_key(key, nick, first_seen))

    def value(self, name: str) -> str:
        """Return a text that `set_value` saved."""
        return self._state.value(name)

    def set_value(self, name: str, text: str) -> bool:
        return self._state.set_value(name, text)
