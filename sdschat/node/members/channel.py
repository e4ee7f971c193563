"""A members' channel on the node: an extension that feeds the engine of Timber, saves its rows and sends its packets.

Every channel gets it. In a channel of another kind it only listens to what is announced there: a channel that has no
history here becomes a members' channel when a data set is announced on it, and we knock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from sdschat.identity.content import OpenedContent, Verdict
from sdschat.identity.members import DataSet, claimed_member, open_packet, read_announcement, seal_packet
from sdschat.identity.signing import sender_id_of, verify
from sdschat.node.channel.content import save_book
from sdschat.node.channel.extension import ExtensionOutput, Handler, OutgoingPacket
from sdschat.node.events import EventBody
from sdschat.node.members.announced import AnnouncedDataSet
from sdschat.node.members.engine_events import EngineEvents
from sdschat.node.members.events import (
    DataSetFound,
    DeliveryChanged,
    Knocked,
    MemberStatusChanged,
    PostDeleted,
    PostEdited,
)
from sdschat.node.members.journal import journal_rows
from sdschat.node.members.knocks import Knocks
from sdschat.node.members.post_log import PostLog
from sdschat.node.members.record import MembersRecord, load_record
from sdschat.node.members.wiping import Wiping
from sdschat.node.sync.people import DirectPeers
from sdschat.sds.state import Ready
from sdschat.sds.values import Now
from sdschat.store.timber import open_timber, save_timber
from sdschat.timber.chat import CREATOR
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.values import Packet, PostId, Reason, Refusal, member_id, sender_of
from sdschat.timber.views import Delivery, MemberStanding
from sdschat.wire.members_codec import TimberEnvelope
from sdschat.wire.timber_codec import TimberCodec

if TYPE_CHECKING:
    from sdschat.identity.key_rows import BookRow
    from sdschat.node.channel.content import ContentGate
    from sdschat.node.channel.presence import ChannelPresence
    from sdschat.node.channel.reception import PacketReception
    from sdschat.node.clock import Clock
    from sdschat.node.private.membership import PrivateChannel
    from sdschat.store.store import Store
    from sdschat.store.transaction import Transaction
    from sdschat.timber.config import Config

DECIDED_AFTER: Final = 0.15  # seconds on the first connection, in which an announcement that is kept comes


class AnnouncedChannel(Protocol):
    """The part of a channel's session on which the extension of a members' channel depends."""

    @property
    def name(self) -> str: ...

    @property
    def presence(self) -> ChannelPresence: ...

    @property
    def reception(self) -> PacketReception: ...

    @property
    def private(self) -> PrivateChannel | None: ...

    def handle(self, what: str, handler: Handler) -> None: ...

    def hear_announcements(self, handler: Callable[[bytes], None]) -> None: ...

    def announce(self, payload: bytes) -> None: ...

    def use_members(self, members: MembersChannel) -> None: ...

    def mark_ready(self) -> None: ...


class MembersChannel:
    """An extension of the channel; see `ChannelExtension`. Its verbs raise ValueError, for a person."""

    def __init__(self, store: Store, gate: ContentGate, clock: Clock, config: Config) -> None:
        self._store = store
        self._gate = gate
        self._clock = clock
        self._config = config
        self._identity = gate.identity
        self._codec = TimberCodec()
        self._announced = AnnouncedDataSet(gate.identity)
        self._knocks = Knocks(gate.book)
        self._wiping = Wiping(store.wipe)
        self._events: list[EventBody] = []
        self._met: list[BookRow] = []
        self._engine: TimberEngine | None = None
        self.decided = asyncio.Event()  # the kind of the channel is known

    # For the rest of the program.

    @property
    def engine(self) -> TimberEngine:
        assert self._engine is not None
        return self._engine

    @property
    def data_set(self) -> str:
        return self._announced.data_set.hex()

    def say(self, text: str, reply_to: str = "") -> str:
        """Post a text, which may answer a post. Return its message id."""
        if not text:
            raise ValueError("A message needs some text.")
        self.require_voice()
        name = self.engine.say(text, self._now(), self._engine_events.name(reply_to) if reply_to else None)
        return self._made(name)

    def edit(self, message_id: str, text: str) -> str:
        """Change a post of ours. Return the id of the edit."""
        if not text:
            raise ValueError("A message needs some text. To take it back, delete it.")
        self.require_voice()
        draft = self._engine_events.draft(message_id)
        if draft is None:
            return self._made(self.engine.edit(post := self._engine_events.name(message_id), text, self._now()), post)
        self.engine.edit_draft(draft, text)
        return self._changed(draft, PostEdited(self._engine_events.draft_id(draft), text, self._identity.sender_id))

    def delete(self, message_id: str) -> str:
        """Take back a post: one of ours, or any, if we made the channel."""
        self.require_voice()
        draft = self._engine_events.draft(message_id)
        if draft is None:
            return self._made(self.engine.delete(post := self._engine_events.name(message_id), self._now()), post)
        self.engine.delete_draft(draft)
        me = self._identity.sender_id
        return self._changed(draft, PostDeleted(self._engine_events.draft_id(draft), True, me, me))

    @property
    def creator(self) -> str:
        """Return the sender id of who made the channel; empty before its state or its announcement is here."""
        key = b"" if self._engine is None else self._engine.person(CREATOR)
        return sender_of(key) if key else self._announced.creator_id

    @property
    def is_creator(self) -> bool:
        """True if we made the channel, and may take back any post."""
        return self.creator == self._identity.sender_id

    @property
    def log(self) -> PostLog:
        """Return the posts that are alive, in order, and after them what waits until we are a member."""
        return self._engine_events.log

    def delivery(self, message_id: str) -> Delivery:
        """Return what became of an event of ours."""
        name = self._engine_events.find(message_id)
        return Delivery("queued", 0, 0) if name is None else self.engine.delivery(name)

    def invite(self, who: str) -> str:
        """Let somebody in, by nick or by id. Return their sender id."""
        self.require_voice()
        key = DirectPeers(self._session.presence, self._gate).find(who).key
        private = self._session.private
        if private is not None and key not in private.roster.members:
            raise ValueError(f"{who} has not joined {self._session.name} by a link, or was removed.")
        self._made(self.engine.invite(key, self._now()))
        return sender_id_of(key)

    def leave(self) -> None:
        """Write nothing more from now on; others go on without us."""
        self._require_not_left()
        self._made(self.engine.leave(self._now()))

    def _made(self, name: PostId | None, post: PostId | None = None) -> str:
        self._session.mark_ready()
        if name is None:
            self.log.touch()
            draft_id = self._engine_events.draft_id(self.engine.last_draft())
            self._events.append(DeliveryChanged(draft_id, "queued", 0, 0))
            return draft_id
        self._engine_events.made(name, post)
        return self._engine_events.message_id(name)

    def _changed(self, draft: int, told: EventBody) -> str:
        """Note that a post that waits was changed or taken back, and is to leave no trace. Return its id."""
        self._wiping.draft_changed()
        self.log.touch()
        self._events.append(told)
        self._session.mark_ready()
        return self._engine_events.draft_id(draft)

    def _now(self) -> Now:
        return self._clock.now()

    def nick_of(self, sender_id: str) -> str:
        if sender_id == self._identity.sender_id:
            return self._gate.nick
        return self._gate.nick_of(sender_id) or self._session.presence.online.get(sender_id, "")

    # An extension of the channel.

    def attach(self, session: AnnouncedChannel) -> None:
        self._session = session
        self._announced.attach(session.name, session.announce)
        private, record = session.private, load_record(self._store, session.name)
        if private is None:
            session.hear_announcements(self._hear_announcement)
        if record is not None:
            self._begin(record, kept=True)
            creator = self._announced.creator if private is None else private.record.genesis.creator_key
            self._events += self._engine_events.standing(self.data_set, sender_id_of(creator))
        elif private is not None and private.record.genesis.data_set:
            genesis = private.record.genesis
            self._find(MembersRecord(session.name, genesis.data_set), genesis.creator_key)
        elif private is not None or self._store.messages(session.name):
            self.decided.set()

    def _find(self, record: MembersRecord, creator: bytes) -> None:
        """Take part in a data set that we did not know before."""
        self._events.append(DataSetFound(record.data_set.hex(), sender_id_of(creator)))
        self._begin(record, kept=False)

    def _begin(self, record: MembersRecord, *, kept: bool) -> None:
        """Take part in the data set from now on."""
        self._announced.begin(record, kept=kept)
        signer = Signer(self._identity.public_key, self._identity.sign)
        snapshot = open_timber(self._store, record.channel)
        self._engine = TimberEngine(self._config, signer, self._codec, verify, self._now(), snapshot)
        self._join()
        self._wiping.begin(kept=snapshot is not None)
        self._engine_events = EngineEvents(self._engine, self.nick_of, self._identity.sender_id)
        self._session.handle("timber", self._heard)
        self._session.use_members(self)
        if self._session.private is not None:
            self._session.private.on_members = self._join
        self.decided.set()

    def _join(self) -> None:
        """Take part, with those who are members of the private channel now; whoever was removed from it is shut out."""
        private, shut_out = self._session.private, frozenset[bytes]()
        if private is not None and private.is_member:
            shut_out = frozenset(map(member_id, private.roster.changes.keys() - private.roster.members.keys()))
        self.engine.join(self._announced.data_set, self._contacts(), self._now(), shut_out)

    def require_voice(self) -> None:
        """Raise ValueError, for a person, if we were removed, so that nobody would open what we write."""
        if self._session.private is not None:
            self._session.private.require_voice()
        self._require_not_left()

    def _require_not_left(self) -> None:
        """Raise ValueError, for a person, if we have left: what we write would wait for ever."""
        if self.engine.standing() in (MemberStanding.LEAVING, MemberStanding.LEFT):
            name, nick = self._session.name, self._gate.nick
            raise ValueError(
                f"you have left {name}: what you write is neither kept nor sent. A member can let you in again, with "
                f"/invite {nick}; ask one with /msg."
            )

    def _contacts(self) -> list[bytes]:
        if self._session.private is not None:
            keys: Iterable[bytes] = self._session.private.roster.members
        else:
            keys = self._announced.contacts
        return sorted({member_id(key) for key in keys} - {member_id(self._identity.public_key)})

    def connected(self, now: Now) -> None:
        self._announced.connected(now.mono)
        if not self.decided.is_set():
            asyncio.get_running_loop().call_later(DECIDED_AFTER, self.decided.set)
        if self._engine is not None:
            self._join()

    def disconnected(self, now: Now) -> None:
        self._announced.disconnected()

    def presence_changed(self, sender_id: str, online: bool) -> None:
        """Synchronize with a member who has just come."""
        key = self._session.presence.keys.get(sender_id)
        if self._engine is not None and online and key is not None:
            self._engine.greet(member_id(key), self._now())
            self._session.mark_ready()

    def next_wake(self) -> int | None:
        engine_at = None if self._engine is None else self._engine.next_wake()
        due = (engine_at, self._announced.due, self._wiping.due)
        return min((when for when in due if when is not None), default=None)

    def advance(self, now: Now) -> None:
        if self._engine is not None:
            self._engine.advance(now)
        self._announced.advance(now.mono)
        self._wiping.advance(now.mono)

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        if self._engine is None:
            events, self._events = self._events, []
            return ExtensionOutput(events=events)
        writes, packets, reports = self._engine.take()
        told = list(self._engine_events.events(reports))
        self._follow_members(told)
        events, self._events = [*self._events, *told], []
        record = self._announced.take_unsaved()
        met, self._met = self._met, []
        mark, name = self._engine.checkpoint, self._session.name
        rows = list(journal_rows(reports, mark, self._engine.data_set, name, now, self._engine.person))
        wipes = self._wiping.process(reports, now.mono)
        outgoing = self._outgoing(packets)
        if not (writes or record is not None or met or rows):
            return ExtensionOutput(None, outgoing, events)

        def save(transaction: Transaction) -> None:
            save_timber(transaction, name, writes, wipe=wipes)
            save_book(transaction, met)
            transaction.journal(rows)
            if record is not None:
                record.save(transaction)

        return ExtensionOutput(save, outgoing, events)

    def _outgoing(self, packets: tuple[Packet, ...]) -> list[OutgoingPacket]:
        sealed: dict[int, bytes] = {}  # by message: each goes to several peers
        found: list[OutgoingPacket] = []
        for peer, message in packets:
            if id(message) not in sealed:
                raw = self._codec.encode(message)
                sealed[id(message)] = seal_packet(
                    self._identity, self._session.name, self._announced.data_set, self._gate.nick, raw
                )
            found.append(OutgoingPacket("timber", sender_of(peer), sealed[id(message)]))
        return found

    # Packets of others.

    def _heard(self, frm: str, payload: bytes, now: Now) -> None:
        envelope = open_packet(payload, self._session.name, self._announced.data_set, frm)
        if isinstance(envelope, str):
            self.engine.receive(claimed_member(frm), Refusal(Reason.SIGNATURE, envelope), now)
            return
        peer, private = member_id(envelope.author_key), self._session.private
        if private is not None and envelope.author_key not in private.roster.members:
            return  # its joining is not here yet, and it asks again; or it does not count
        self._meet(envelope, now)
        self._session.reception.last_heard.note_said(frm, now.wall)
        admitted = self.engine.admits(peer)
        knocks = self.engine.me is not None and (not admitted or self.engine.put_out(peer))
        if knocks and self._knocks.is_news(frm, now.mono):
            self._events.append(Knocked(frm, envelope.nick))
        if not admitted and private is not None and self.engine.me is not None:
            return  # the engine would answer whoever may be asked for the state, and a link is enough for that
        self.engine.receive(peer, self._codec.decode(envelope.packet), now)

    def _meet(self, envelope: TimberEnvelope, now: Now) -> None:
        welcome = self.engine.admits(member_id(envelope.author_key))
        opened = OpenedContent(Verdict.NEW, None, nick=envelope.nick, author_key=envelope.author_key)
        rows, events = self._gate.book.meet(opened, now.wall, welcome=welcome)
        self._met += rows
        self._events += events

    # The announcement.

    def _hear_announcement(self, payload: bytes) -> None:
        found = read_announcement(payload, self._session.name)
        ours, now = self._announced.record, self._now().mono
        if found is None:
            if ours is not None:
                self._announced.displaced(now)
            return
        if ours is None and self._store.messages(self._session.name):
            detail = (
                "a members' channel is announced under this name, and it is an open channel, with a history, here: "
                "the kind never changes"
            )
            self._refuse(found, detail)
        elif ours is None:
            self._find(MembersRecord(self._session.name, found.data_set, found.payload), found.creator)
        elif found.data_set != ours.data_set:
            self._announced.rivalled(now, is_member=self.engine.me is not None)
            self._refuse(found, f"another data set is announced here; ours is {self.data_set}")
        elif self._announced.hear(found, now):
            self._join()

    def _refuse(self, found: DataSet, why: str) -> None:
        self._events += self._announced.refusal(found, why, self._now().mono)

    def _follow_members(self, told: list[EventBody]) -> None:
        """Name the members of now in the announcement, if it is ours."""
        changes = [one for one in told if isinstance(one, MemberStatusChanged)]
        self._knocks.forget(one.sender_id for one in changes if one.status == "evicted")
        news = {one.status for one in changes}
        if self.engine.me is not None and not news.isdisjoint(("member", "evicted", "left")):
            self._announced.name_members(member.key for member in self.engine.members())
