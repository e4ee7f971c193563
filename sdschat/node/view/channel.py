"""The view of a node for an interface: everything it reads, and the little it writes (read position and drafts).

Reads see everything that was told, since nothing is told before it is on disk. A window of the history costs the
same however long the history is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sdschat.node.node import Node
from sdschat.node.view import live as live
from sdschat.node.view.values import Key, Lost, MissingMessage, OwnFate, Participant, Shown, Sync
from sdschat.sds.values import Message, Now
from sdschat.store.display_rows import DisplayMessage
from sdschat.store.errors import StoreError
from sdschat.store.positions import Positions
from sdschat.store.transaction import Transaction
from sdschat.store.user_state import ReadMark
from sdschat.transport.topics import normal_channel
from sdschat.wire.chat_codec import decode_envelope

if TYPE_CHECKING:
    from sdschat.node.channel.session import ChannelSession
    from sdschat.sds.state import ChannelState


class NodeView:
    """One for an interface. To be closed before the node is."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._store = node._store
        self._codec = node._profile.codec
        self._reader = self._store.open_read_only(self._store.path, self._codec)
        self._ranks = Positions(self._reader)

    def close(self) -> None:
        self._reader.close()

    def now(self) -> Now:
        return self.node._clock.now()

    # The history.

    def messages(
        self, channel: str, *, before: Key | None = None, after: Key | None = None, limit: int = 100
    ) -> list[Shown]:
        """The last ones before a key, or the first ones after it, in log order."""
        found = self._reader.messages(channel, before=before, after=after, limit=limit, with_raw=True)
        return [self._shown(message) for message in found]

    def message(self, channel: str, message_id: str) -> Shown | None:
        detail = self._reader.message(channel, message_id, ancestors=0)
        return None if detail is None else self._shown(detail.message)

    def search(
        self, channel: str, words: str, *, limit: int = 50, before: Key | None = None, after: Key | None = None
    ) -> list[Shown]:
        """All words, in any order; the last one may be a beginning. The newest ones, or with `after` the oldest."""
        found = self._reader.messages(channel, search=words, limit=limit, before=before, after=after, with_raw=True)
        return [self._shown(message) for message in found]

    def find_ids(self, channel: str, prefix: str, limit: int = 10) -> list[str]:
        return self._reader.find_ids(channel, prefix, limit)

    def raw(self, channel: str, message_id: str) -> bytes | None:
        """The packet as it came."""
        detail = self._reader.message(channel, message_id, ancestors=0)
        return None if detail is None else detail.message.raw

    def count(self, channel: str) -> int:
        return self._ranks.count(channel)

    def rank(self, channel: str, message_id: str) -> int:
        """About how many messages are before this one, and itself; 0: there is none."""
        return self._ranks.rank(channel, message_id)

    def at_rank(self, channel: str, rank: int) -> Key | None:
        return self._ranks.at_rank(channel, rank)

    def dated(self, channel: str, lamport: int) -> Key | None:
        """The first message dated so or later."""
        return self._ranks.dated(channel, lamport)

    def _shown(self, stored: DisplayMessage) -> Shown:
        kind, reply_to = 0, ""
        packet = None if stored.raw is None else self._codec.decode(stored.raw)
        if isinstance(packet, Message) and packet.content:
            envelope = decode_envelope(packet.content)
            if envelope is not None:
                kind, reply_to = envelope.kind, envelope.reply_to
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
        )

    # What the engine knows.

    def room(self, channel: str) -> ChannelSession | None:
        return self.node.rooms.get(channel)

    def engine(self, channel: str) -> ChannelState:
        """The engine's own state, to look at."""
        return self.node.rooms[channel].channel.state

    def remembered(self, channel: str, message_id: str) -> OwnFate | None:
        """The fate of an own message that the engine has at hand: all that are open, and the last acknowledged.
        Of a channel that is not joined yet, as it is on disk, where the engine will find it."""
        room = self.room(channel)
        return self._kept(channel, message_id) if room is None else live.fate(room, message_id, self.now())

    def own(self, channel: str, message_id: str) -> OwnFate | None:
        """The fate of an own message, however old."""
        return self.remembered(channel, message_id) or self._kept(channel, message_id)

    def _kept(self, channel: str, message_id: str) -> OwnFate | None:
        """As it was last saved."""
        detail = self._reader.message(channel, message_id, ancestors=0)
        row = None if detail is None else detail.outgoing
        return None if row is None else OwnFate(row.state, row.sends, 0, row.evidence)

    def missing(self, channel: str) -> list[MissingMessage]:
        room = self.room(channel)
        return [] if room is None else live.missing(room, self.now())

    def lost(self, channel: str) -> dict[str, Lost]:
        room = self.room(channel)
        return {} if room is None else live.lost(room)

    def sync(self, channel: str) -> Sync:
        room = self.room(channel)
        return Sync(0, 0, 0, 0, 0) if room is None else live.sync(room)

    def people(self, channel: str) -> list[Participant]:
        room = self.room(channel)
        if room is None:
            return []
        found = live.people(room, self.node.sender_id, self.node.nick, self.now())
        return [person if person.nick else person._replace(nick=self.nick_of(person.sender_id)) for person in found]

    def nick_of(self, sender_id: str) -> str:
        """The nick that this sender proved to go by last; empty for who never signed anything."""
        return self.node.nick if sender_id == self.node.sender_id else self.node.desk.nick_of(sender_id)

    def presence_nick(self, channel: str, sender_id: str) -> str:
        """The nick of somebody who is here, as their presence proves it; empty for everybody else."""
        room = self.room(channel)
        return "" if room is None else room.presence.online.get(sender_id, "")

    def faults(self, channel: str) -> str:
        """Return the faults injected on this channel's connection, in words; empty if there are none."""
        room = self.room(channel)
        faults = None if room is None else getattr(room.transport, "faults", None)
        return str(faults) if faults is not None and faults.active else ""

    def open_messages(self, channel: str) -> list[str]:
        """Ids of own messages that are not acknowledged, oldest first."""
        room = self.room(channel)
        return [] if room is None else list(room.channel.state.outgoing.open)

    def resend(self, channel: str, ids: Iterable[str]) -> int:
        """Send these own messages again now. Return the number of messages sent again."""
        room, now = self.room(channel), self.now()
        if room is None:
            return 0
        found = sum(room.channel.resend(now, message_id) for message_id in ids)
        room.stir()
        return found

    # Channels and the connection.

    @staticmethod
    def written(name: str) -> str:
        """The name of a channel as it is written everywhere. Raises ValueError for a name that is none."""
        return normal_channel(name)

    def join(self, name: str, before: Callable[[str], None]) -> str:
        """Join a channel; `before` hears its name as it is written everywhere, before anything of it is told.
        Raises ValueError for a name that is none."""
        channel = self.written(name)
        before(channel)
        return self.node.join(channel).name

    async def part(self, channel: str) -> None:
        await self.node.part(channel)

    def set_nick(self, nick: str) -> None:
        """Raises ValueError for what cannot be one."""
        self.node.rename(nick)

    def connected(self, channel: str) -> bool:
        room = self.room(channel)
        return room is not None and room.transport.connected

    def retry_now(self, channel: str) -> None:
        room = self.room(channel)
        if room is not None:
            room.transport.retry_now()

    # What is this person's alone. Saving gives False where it cannot be saved now; the node says why by itself.

    def draft(self, channel: str) -> str:
        return self._store.draft(channel)

    def set_draft(self, channel: str, text: str) -> bool:
        return self._save(lambda transaction: transaction.set_draft(channel, text, self.now().wall))

    def read_mark(self, channel: str) -> ReadMark | None:
        return self._store.read_mark(channel)

    def mark_read(self, channel: str, key: Key) -> bool:
        """Everything that is here by now is read; the line is drawn below this message."""
        return self._save(lambda transaction: transaction.set_read_mark(channel, *key, self.now().wall))

    def unread(self, channel: str) -> int:
        return self._store.unread(channel)

    def value(self, name: str) -> str:
        """A text that `set_value` kept."""
        kept = self._store.value(f"view.{name}")
        return "" if kept is None else kept.decode(errors="replace")

    def set_value(self, name: str, text: str) -> bool:
        return self._save(lambda transaction: transaction.set_value(f"view.{name}", text.encode(errors="replace")))

    def _save(self, change: Callable[[Transaction], None]) -> bool:
        try:
            with self._store.transaction() as transaction:
                change(transaction)
        except StoreError:
            return False
        return True
