"""A members' channel on the node: an extension that feeds the engine of Timber, saves its rows and sends its packets.

Every channel gets it. In a channel of another kind it only listens to what is announced there: a channel that has no
history here becomes a members' channel when a data set is announced on it, and we knock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol

from sdschat.identity.content import OpenedContent, Verdict
from sdschat.identity.key_book import PEOPLE_A_MINUTE
from sdschat.identity.members import DataSet, announce, first_operation, open_packet, read_announcement, seal_packet
from sdschat.identity.signing import sender_id_of, verify
from sdschat.node.channel.content import save_book
from sdschat.node.channel.extension import ExtensionOutput, Handler, OutgoingPacket
from sdschat.node.events import EventBody
from sdschat.node.members.events import (
    DataSetFound,
    DeliveryChanged,
    KindRefused,
    Knocked,
    MemberStatusChanged,
    PostDeleted,
    PostEdited,
    TimberRejected,
)
from sdschat.node.members.journal import deletes_texts, journal_rows
from sdschat.node.members.post_log import PostLog
from sdschat.node.members.record import MembersRecord, load_record
from sdschat.node.members.told import Told
from sdschat.node.sync.people import DirectPeers
from sdschat.sds.state import Ready
from sdschat.sds.values import Now
from sdschat.store.timber import open_timber, save_timber
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import Compacted, StateAdopted
from sdschat.timber.values import Packet, PostId, Reason, member_id, sender_of
from sdschat.timber.views import Delivery, MemberStanding
from sdschat.wire.members_codec import MAX_CONTACTS, TimberEnvelope
from sdschat.wire.timber_codec import TimberCodec

if TYPE_CHECKING:
    from sdschat.identity.key_book import BookRow
    from sdschat.node.channel.content import ContentGate
    from sdschat.node.channel.presence import ChannelPresence
    from sdschat.node.clock import Clock
    from sdschat.node.private.membership import PrivateChannel
    from sdschat.store.store import Store
    from sdschat.store.transaction import Transaction
    from sdschat.timber.config import Config

_KNOCKS: Final = 64  # strangers who are remembered, so that each knock is told once
_ANNOUNCE_AFTER: Final = 300  # ms on a connection until what nobody announced is announced again
_WIPE_AGAIN: Final = 1000  # ms
_MINUTE: Final = 60_000  # ms
_REFUSED_EVERY: Final = _MINUTE  # ms between two events for announcements that do not count: anybody can make them
DECIDED_AFTER: Final = 0.15  # seconds on the first connection, in which an announcement that is kept comes


class AnnouncedChannel(Protocol):
    """The part of a channel's session on which the extension of a members' channel depends."""

    @property
    def name(self) -> str: ...

    @property
    def presence(self) -> ChannelPresence: ...

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
        self._record: MembersRecord | None = None
        self._unsaved: MembersRecord | None = None
        self._announced: DataSet | None = None  # the last one that was heard, or is kept
        self._announce_at: int | None = None
        self._wipe_at: int | None = None
        self._deleted = False  # texts are settled as deleted, and still on the disk
        self._wipes = False  # a text that only we have was changed or taken back in this turn
        self._knocks: set[str] = set()
        self._knocked_at: deque[int] = deque()  # times of the knocks that were told in the last minute
        self._events: list[EventBody] = []
        self._met: list[BookRow] = []
        self._told: Told | None = None
        self._engine: TimberEngine | None = None
        self._connected = False
        self._refused_at = -_REFUSED_EVERY
        self.decided = asyncio.Event()  # the kind of the channel is known

    # For the rest of the program.

    @property
    def active(self) -> bool:
        """True if this is a members' channel."""
        return self._engine is not None

    @property
    def engine(self) -> TimberEngine:
        assert self._engine is not None
        return self._engine

    @property
    def told(self) -> Told:
        assert self._told is not None
        return self._told

    @property
    def data_set(self) -> str:
        return "" if self._record is None else self._record.data_set.hex()

    def say(self, text: str, reply_to: str = "") -> str:
        """Post a text, which may answer a post. Return its message id."""
        if not text:
            raise ValueError("A message needs some text.")
        self._require_voice()
        name = self.engine.say(text, self._now(), self.told.name(reply_to) if reply_to else None)
        return self._made(name)

    def edit(self, message_id: str, text: str) -> str:
        """Change a post of ours. Return the id of the edit."""
        if not text:
            raise ValueError("A message needs some text. To take it back, delete it.")
        self._require_voice()
        draft = self.told.draft(message_id)
        if draft is None:
            return self._made(self.engine.edit(self.told.name(message_id), text, self._now()))
        self.engine.edit_draft(draft, text)
        return self._changed(draft, PostEdited(self.told.draft_id(draft), text))

    def delete(self, message_id: str) -> str:
        """Take back a post: one of ours, or any, if we made the channel."""
        self._require_voice()
        draft = self.told.draft(message_id)
        if draft is None:
            return self._made(self.engine.delete(self.told.name(message_id), self._now()))
        self.engine.delete_draft(draft)
        return self._changed(draft, PostDeleted(self.told.draft_id(draft), waited=True))

    @property
    def log(self) -> PostLog:
        """The posts that are alive, in order, and after them what waits until we are a member."""
        return self.told.log

    def delivery(self, message_id: str) -> Delivery:
        """Return what became of an event of ours."""
        name = self.told.find(message_id)
        return Delivery("queued", 0, 0) if name is None else self.engine.delivery(name)

    def invite(self, who: str) -> str:
        """Let somebody in, by nick or by id. Return their sender id."""
        self._require_voice()
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

    def _made(self, name: PostId | None) -> str:
        self._session.mark_ready()
        if name is None:
            self.log.touch()
            draft_id = self.told.draft_id(self.engine.last_draft())
            self._events.append(DeliveryChanged(draft_id, "queued", 0, 0))
            return draft_id
        self.told.made(name)
        return self.told.message_id(name)

    def _changed(self, draft: int, told: EventBody) -> str:
        """Note that a post that waits was changed or taken back, and is to leave no trace. Return its id."""
        self._wipes = True
        self.log.touch()
        self._events.append(told)
        self._session.mark_ready()
        return self.told.draft_id(draft)

    def _now(self) -> Now:
        return self._clock.now()

    def nick_of(self, sender_id: str) -> str:
        if sender_id == self._identity.sender_id:
            return self._gate.nick
        return self._gate.nick_of(sender_id) or self._session.presence.online.get(sender_id, "")

    # An extension of the channel.

    def attach(self, session: AnnouncedChannel) -> None:
        self._session = session
        private, record = session.private, load_record(self._store, session.name)
        if private is None:
            session.hear_announcements(self._hear_announcement)
        elif record is None and private.record.genesis.data_set:
            genesis = private.record.genesis
            record = self._unsaved = MembersRecord(session.name, genesis.data_set)
            self._events.append(DataSetFound(genesis.data_set.hex(), sender_id_of(genesis.creator_key)))
        if record is not None:
            self._begin(record)
            if self._unsaved is None:
                self._tell_standing()
        elif private is not None or self._store.messages(session.name):
            self.decided.set()

    def _begin(self, record: MembersRecord) -> None:
        """Take part in the data set from now on."""
        self._record = record
        if record.announcement:
            self._announced = read_announcement(record.announcement, record.channel)
        signer = Signer(self._identity.public_key, self._identity.sign)
        now, config = self._now(), self._config
        snapshot = open_timber(self._store, record.channel)
        self._engine = TimberEngine(config, signer, self._codec, verify, now, snapshot)
        self._engine.join(record.data_set, self._contacts(), now)
        self._deleted = snapshot is not None
        self._told = Told(self._engine, self.nick_of, self._identity.sender_id)
        self._session.handle("timber", self._heard)
        self._session.use_members(self)
        if self._session.private is not None:
            self._session.private.on_members = self._follow_roster
        self.decided.set()

    def _tell_standing(self) -> None:
        """Tell at the start why we do not write, if we do not."""
        standing, me = self.engine.standing(), self._identity.sender_id
        if standing is MemberStanding.OUTSIDE:
            private = self._session.private
            creator = private.record.genesis.creator_key if private is not None else self._creator()
            self._events.append(DataSetFound(self.data_set, sender_id_of(creator)))
        elif standing is MemberStanding.REMOVED:
            self._events.append(MemberStatusChanged(me, self._gate.nick, "evicted"))
        elif standing in (MemberStanding.LEAVING, MemberStanding.LEFT):
            self._events.append(MemberStatusChanged(me, self._gate.nick, "left"))

    def _creator(self) -> bytes:
        """Return the key of whoever made the data set; our own while no announcement is kept."""
        return self._identity.public_key if self._announced is None else self._announced.creator

    def _follow_roster(self) -> None:
        """Ask those for the state who are members of the private channel now."""
        self.engine.join(self._data_set, self._contacts(), self._now())

    def _require_voice(self) -> None:
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
            keys = () if self._announced is None else (*self._announced.contacts, self._announced.creator)
        return sorted({member_id(key) for key in keys} - {member_id(self._identity.public_key)})

    def connected(self, now: Now) -> None:
        self._connected = True
        self._announce_at = now.mono + _ANNOUNCE_AFTER
        if not self.decided.is_set():
            asyncio.get_running_loop().call_later(DECIDED_AFTER, self.decided.set)
        if self._engine is not None:
            self._engine.join(self._engine.data_set or self._data_set, self._contacts(), now)

    @property
    def _data_set(self) -> bytes:
        return b"" if self._record is None else self._record.data_set

    def disconnected(self, now: Now) -> None:
        self._connected = False
        self._announce_at = None

    def presence_changed(self, sender_id: str, online: bool) -> None:
        """Synchronize with a member who has just come."""
        key = self._session.presence.keys.get(sender_id)
        if self._engine is not None and online and key is not None:
            self._engine.greet(member_id(key), self._now())
            self._session.mark_ready()

    def next_wake(self) -> int | None:
        engine_at = None if self._engine is None else self._engine.next_wake()
        return min((when for when in (engine_at, self._announce_at, self._wipe_at) if when is not None), default=None)

    def advance(self, now: Now) -> None:
        if self._engine is not None:
            self._engine.advance(now)
        if self._announce_at is not None and self._announce_at <= now.mono:
            self._announce_at = None
            self._announce()
        if self._wipe_at is not None and self._wipe_at <= now.mono:
            self._wipe_at = None if self._store.wipe() else now.mono + _WIPE_AGAIN

    def take(self, ready: Ready, now: Now) -> ExtensionOutput:
        if self._engine is None or self._told is None:
            events, self._events = self._events, []
            return ExtensionOutput(events=events)
        writes, packets, reports = self._engine.take()
        told = list(self._told.events(reports))
        self._follow_members(told)
        events, self._events = [*self._events, *told], []
        record, self._unsaved = self._unsaved, None
        met, self._met = self._met, []
        self._deleted = self._deleted or any(deletes_texts(report) for report in reports)
        mark, name = self._engine.checkpoint, self._session.name
        rows = list(journal_rows(reports, mark, self._engine.data_set, name, now, self._engine.person))
        wipes = self._deleted and any(isinstance(report, Compacted | StateAdopted) for report in reports)
        if wipes:
            self._deleted = False
        wipes, self._wipes = wipes or self._wipes, False
        if wipes:
            self._wipe_at = now.mono + _WIPE_AGAIN  # where a reader was in the way
        posts = self._posts(packets)
        if not (writes or record is not None or met or rows):
            return ExtensionOutput(None, posts, events)

        def save(transaction: Transaction) -> None:
            save_timber(transaction, name, writes, wipe=wipes)
            save_book(transaction, met)
            transaction.journal(rows)
            if record is not None:
                record.save(transaction)

        return ExtensionOutput(save, posts, events)

    def _posts(self, packets: tuple[Packet, ...]) -> list[OutgoingPacket]:
        sealed: dict[int, bytes] = {}  # by message: each goes to several peers
        found: list[OutgoingPacket] = []
        for peer, message in packets:
            if id(message) not in sealed:
                raw = self._codec.encode(message)
                sealed[id(message)] = seal_packet(
                    self._identity, self._session.name, self._data_set, self._gate.nick, raw
                )
            found.append(OutgoingPacket("timber", sender_of(peer), sealed[id(message)]))
        return found

    # Packets of others.

    def _heard(self, frm: str, payload: bytes, now: Now) -> None:
        envelope = open_packet(payload, self._session.name, self._data_set, frm)
        if isinstance(envelope, str):
            self._events.append(TimberRejected(frm, str(Reason.SIGNATURE), 1, envelope))
            return
        peer, private = member_id(envelope.author_key), self._session.private
        if private is not None and envelope.author_key not in private.roster.members:
            return  # its joining is not here yet, and it asks again; or it does not count
        self._meet(envelope, now)
        admitted = self.engine.admits(peer)
        if not admitted or self.engine.put_out(peer):
            self._knock(frm, envelope.nick)
        if not admitted and private is not None and self.engine.me is not None:
            return  # the engine would answer whoever may be asked for the state, and a link is enough for that
        self.engine.receive(peer, self._codec.decode(envelope.packet), now)

    def _meet(self, envelope: TimberEnvelope, now: Now) -> None:
        welcome = self.engine.admits(member_id(envelope.author_key))
        opened = OpenedContent(Verdict.NEW, None, nick=envelope.nick, author_key=envelope.author_key)
        rows, facts = self._gate.book.meet(opened, now.wall, welcome=welcome)
        self._met += rows
        self._events += facts

    def _knock(self, sender_id: str, nick: str) -> None:
        crowd = self._gate.book.is_waiting(sender_id)  # keys cost nothing; who knocks again later is told then
        if self.engine.me is None or sender_id in self._knocks or crowd:
            return
        now, told_at = self._now().mono, self._knocked_at
        while told_at and now - told_at[0] >= _MINUTE:
            told_at.popleft()
        if len(told_at) >= PEOPLE_A_MINUTE:
            return  # keys that became people one by one may knock all at once
        told_at.append(now)
        if len(self._knocks) >= _KNOCKS:
            self._knocks.clear()
        self._knocks.add(sender_id)
        self._events.append(Knocked(sender_id, nick))

    # The announcement.

    def _hear_announcement(self, payload: bytes) -> None:
        found = read_announcement(payload, self._session.name)
        if found is None:
            return
        if self._record is None:
            self._find(found)
        elif found.data_set != self._record.data_set:
            self._refuse(found, f"another data set is announced here; ours is {self.data_set}")
        else:
            self._announce_at = None
            if self._announced is None or found.number > self._announced.number:
                self._announced = found
                self._record = self._unsaved = self._record._replace(announcement=payload)
                self.engine.join(self._data_set, self._contacts(), self._now())

    def _find(self, found: DataSet) -> None:
        """A members' channel is announced where we had none."""
        session = self._session
        if self._store.messages(session.name):
            detail = (
                "a members' channel is announced under this name, and it is an open channel, with a history, here: "
                "the kind never changes"
            )
            self._refuse(found, detail)
            return
        self._unsaved = MembersRecord(session.name, found.data_set, found.payload)
        self._events.append(DataSetFound(found.data_set.hex(), sender_id_of(found.creator)))
        self._begin(self._unsaved)

    def _refuse(self, found: DataSet, why: str) -> None:
        now = self._now().mono
        if now - self._refused_at >= _REFUSED_EVERY:
            self._refused_at = now
            self._events.append(KindRefused(found.data_set.hex(), why))

    def _announce(self) -> None:
        if self._announced is not None and self._connected:
            self._session.announce(self._announced.payload)

    def _follow_members(self, told: list[EventBody]) -> None:
        """Name the members of now in the announcement, if it is ours."""
        changes = [one for one in told if isinstance(one, MemberStatusChanged)]
        self._knocks -= {one.sender_id for one in changes if one.status == "evicted"}  # their next knock is told
        news = {one.status for one in changes}
        if news.isdisjoint(("member", "evicted", "left")) or self._announced is None:
            return
        if self._record is None or self._announced.creator != self._identity.public_key or self.engine.me is None:
            return
        contacts = [member.key for member in self.engine.members()][:MAX_CONTACTS]
        genesis = first_operation(self._announced.payload)
        payload = announce(self._identity, self._session.name, genesis, contacts, self._announced.number + 1)
        self._announced = read_announcement(payload, self._session.name)
        self._record = self._unsaved = self._record._replace(announcement=payload)
        self._announce()
