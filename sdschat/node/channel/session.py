"""One channel of a node: its engine, its transport, and what passes between the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.echoes import SentPackets
from sdschat.node.channel.extension import ExtensionOutput, Handler, OutgoingPacket, Watcher, heard_at, sent_to
from sdschat.node.channel.presence import ChannelPresence
from sdschat.node.channel.proofs import HeardPacket, Proofs, is_signed
from sdschat.node.channel.refusals import RefusalCounter
from sdschat.node.channel.sender_limits import FRESH, SenderLimits
from sdschat.node.clock import Clock
from sdschat.node.events import ConnectionChanged, EventBody, HandedOver, NotPublished, PresenceChanged, TroubleMet
from sdschat.sds.channel import Channel
from sdschat.sds.config import Config
from sdschat.sds.events import Rejected
from sdschat.sds.state import Packet, Ready
from sdschat.sds.values import TOLD, Codec, Message, MessageKind, Now, Reason, Refusal
from sdschat.store.errors import StoreError
from sdschat.store.store import Store
from sdschat.transport import base
from sdschat.transport.base import Topics

if TYPE_CHECKING:
    from sdschat.node.members.channel import MembersChannel
    from sdschat.node.private.membership import PrivateChannel

_OWN: Final = frozenset({"message", "resend", "ephemeral"})
# Of what somebody says who has the key of a private channel and is no member, so much is kept; and of joinings, which
# may come before those of whoever invited their authors.
_OUTSIDERS: Final = 5  # messages of one of them in a minute
_JOININGS: Final = 60
_EARLY_KEPT: Final = 64

Emit = Callable[[str, EventBody], None]


class ChannelExtension(Protocol):
    """All verbs are called on the loop's thread. Input of others never raises out of them."""

    def attach(self, session: ChannelSession) -> None:
        """Called once, before the channel connects: the place for `session.handle`."""

    def connected(self, now: Now) -> None: ...

    def disconnected(self, now: Now) -> None: ...

    def next_wake(self) -> int | None:
        """When `advance` is to be called, on the monotonic clock in milliseconds; None: not by itself."""

    def advance(self, now: Now) -> None:
        """Some deadline may be over."""

    def take(self, ready: Ready, now: Now) -> ExtensionOutput:
        """Once in every turn in which something of this channel is ready. `ready` is the engine's of this turn, and
        about to be saved: a new message's bytes stand in its `Append` write, and nowhere else yet."""


class ChannelSession:
    """Feeds the engine. When something is ready it says so (`mark_ready`), and waits for the node to take it."""

    def __init__(
        self,
        channel: Channel,
        topics: Topics,
        transport: base.Transport,
        gate: ContentGate,
        codec: Codec,
        clock: Clock,
        qos: int,
        *,
        unsigned_counts: bool = False,
        limits: SenderLimits,
        dialect: str = "spec",
        emit: Emit,
        mark_ready: Callable[[ChannelSession], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self.name = topics.channel
        self.dialect = dialect
        self.channel = channel
        self.transport = transport
        self.presence = ChannelPresence(self.name, gate.identity, gate.book)
        self.refusals = RefusalCounter()
        self._sent = SentPackets()
        self._limits = limits
        self._limits_of_outsiders = SenderLimits(_OUTSIDERS, _OUTSIDERS)
        self._limits_of_joinings = SenderLimits(_JOININGS, _JOININGS)
        self.was_connected = False
        self._nameless: set[str] = set()  # outsiders who are here, and whose nicks are not shown
        self._early: dict[str, base.Received] = {}  # presence under an earlier key, of those who are no members yet
        self._connected_at = 0  # epoch milliseconds
        self._topics = topics
        self._gate = gate
        self.proofs = Proofs(self.name, codec, gate.book, unsigned_counts)
        self._clock = clock
        self._qos = qos
        self._emit = emit
        self._mark_ready = mark_ready
        self._fail = fail
        self._extensions: list[ChannelExtension] = []
        self._handlers: dict[str, Handler] = {}
        self.private: PrivateChannel | None = None
        self.members: MembersChannel | None = None  # its log is that of Timber, and the engine of SDS rests
        self._announced: Callable[[bytes], None] | None = None
        self.watchers: list[Watcher] = []  # see every packet of the channel, and must not raise

    @property
    def extensions(self) -> tuple[ChannelExtension, ...]:
        return tuple(self._extensions)

    def attach(self, extension: ChannelExtension) -> None:
        """Something else that this channel does, from now on."""
        self._extensions.append(extension)
        extension.attach(self)

    def handle(self, what: str, handler: Handler) -> None:
        """Hear what comes to us on the topics of `what`: sync, store/query, store/answer or timber. One handler each.
        What the broker kept from earlier and our own packets do not come."""
        if what in self._handlers:
            raise ValueError(f"{what} is handled already")
        self._handlers[what] = handler
        self.transport.subscribe(heard_at(self._topics, what, self._gate.identity.sender_id))

    def hear_announcements(self, handler: Callable[[bytes], None]) -> None:
        """Hear what is announced on the channel as the data set of its members, kept by the broker or not."""
        self._announced = handler
        self.transport.subscribe(self._topics.announcement)

    def announce(self, payload: bytes) -> None:
        """Publish the announcement, for everybody who joins."""
        self.transport.publish(self._topics.announcement, payload, qos=self._qos, retain=True)

    def use_members(self, members: MembersChannel) -> None:
        """Let the log of Timber take the place of that of SDS."""
        self.members = members
        if self._rests:
            self.transport.unsubscribe(self._topics.msg)
            self.channel.disconnected(self._clock.now())

    @property
    def _rests(self) -> bool:
        """True if nothing is said in SDS here. In a private members' channel its log holds who joined, and who was
        removed; in another one it is empty."""
        return self.members is not None and self.private is None

    def mark_ready(self) -> None:
        """Something is ready: there will be a turn soon."""
        self._mark_ready(self)

    def receive(self, packet: bytes, source: str) -> None:
        """A packet of the channel that came another way: store or sync. Any bytes will do."""
        self._take_packet(packet, source)

    def start(self) -> None:
        self.transport.listen(self._heard)
        if not self._rests:
            self.transport.subscribe(self._topics.msg)
        self.transport.subscribe(self._topics.who_all)
        self.presence.begin(self._clock.now().wall)
        self.say_presence()
        self.transport.start()

    def interpose(self, transport: base.Transport) -> None:
        """From now on the transport is behind this one, which started already."""
        self.transport = transport
        transport.listen(self._heard)

    def say_presence(self) -> None:
        """Publish our presence, for everybody who looks."""
        self.transport.set_presence(*self.presence.payloads(self._gate.nick, self._clock.now()))

    # What the transport tells. An exception in here is caught by the transport and comes back as HandlerFailed.

    def _heard(self, event: base.Event) -> None:
        match event:
            case base.Received():
                self._received(event)
            case base.Published(tag):
                if callable(tag):
                    tag(None)
                elif isinstance(tag, str):
                    self._emit(self.name, HandedOver(tag))
            case base.PublishFailed(tag, failure, detail):
                if callable(tag):
                    tag(detail)
                elif failure is not base.Failure.CLOSED:
                    self._emit(self.name, NotPublished(tag if isinstance(tag, str) else "", str(failure), detail))
            case base.HandlerFailed(error, _):
                self._failed(error)
            case base.Crashed(error):
                self._fail(error)
            case base.SubscribeRefused(topic_filter, detail):
                self._emit(self.name, TroubleMet(f"the broker refused the subscription to {topic_filter}: {detail}"))
            case base.ProbeUnanswered():
                pass
            case _:
                self._connection(event)

    def _received(self, event: base.Received) -> None:
        if event.topic == self._topics.msg:
            if self._rests:
                return
            own = self._sent.message_id(event.payload)
            if own is None or own in self.channel.state.refetch:
                self._take_packet(event.payload, "live", event.outdated)
            else:
                self.channel.heard_copy(self._clock.now(), own)
                self._mark_ready(self)
            return
        if event.topic == self._topics.announcement:
            if self._announced is not None:
                self._announced(event.payload)
                self._mark_ready(self)
            return
        if event.outdated and self.private is not None:
            self.private.announcer.heard_outdated("", proven=False)
        place = self._topics.place(event.topic)
        if place is None:
            return
        if event.outdated and place.frm and not self._is_member(place.frm):
            if place.what == "who" and len(self._early) < _EARLY_KEPT:
                self._early[place.frm] = event
            return
        if place.what == "who":
            changed = self.presence.heard(place.frm, event.payload, self._clock.now(), event.retained)
            if changed is not None:
                self._emit_presence(changed)
            return
        handler = self._handlers.get(place.what)
        if handler is not None and not event.retained and place.frm != self._gate.identity.sender_id:
            handler(place.frm, event.payload, self._clock.now())
            self._mark_ready(self)

    def _emit_presence(self, changed: PresenceChanged) -> None:
        """Tell who is here, and nothing that somebody says who is no member."""
        if self.is_outsider(changed.sender_id):
            self._nameless.add(changed.sender_id)
            changed = changed._replace(nick="")
        self._emit(self.name, changed)

    def members_changed(self) -> None:
        """Look again at the presence of those who had an earlier key, or were no members, when it came."""
        early, self._early = self._early, {}
        for event in early.values():
            self._received(event)
        for sender_id in [one for one in self._nameless if not self.is_outsider(one)]:
            self._nameless.discard(sender_id)
            if sender_id in self.presence.online:
                self._emit(self.name, PresenceChanged(sender_id, self.presence.online[sender_id], True))
        self._nameless &= self.presence.online.keys()

    def is_outsider(self, sender_id: str) -> bool:
        """True for somebody who has the key of this private channel, and is no member of it."""
        return self.private is not None and self.private.is_outsider(sender_id)

    def read(self, packet: bytes) -> HeardPacket:
        """Decode a packet into a message that is what its author signed, or into a refusal."""
        heard = self.proofs.decode(packet)
        message = heard.message
        if isinstance(message, Refusal) or message.kind is MessageKind.SYNC:
            return heard
        refusal = self._gate.refusal_of(message, self._is_checked(message.message_id))
        return heard if refusal is None else HeardPacket(refusal, None)

    def _is_checked(self, message_id: str) -> bool:
        """True if a message is known to be what its author signed, because it is here and came lately. Of one that is
        here as an id that others told, nothing is known."""
        entry = self.channel.state.window.entries.get(message_id)
        return self.channel.state.holds_in_memory(message_id) and (entry is None or entry.generation != TOLD)

    def _is_member(self, sender_id: str) -> bool:
        """Members who were away may still use an earlier key. Those who were removed have no other."""
        return self.private is not None and self.private.has(sender_id)

    def _counts_outdated(self, heard: HeardPacket, message: Message | Refusal, packet: bytes) -> bool:
        """True if a packet under an earlier key is by a member. Whoever was removed has that key, too, and anybody can
        repeat what was sent under it; so only what is signed counts, and proves that its author lacks a key if it is
        new."""
        by_member = self._is_member(message.sender_id or "")
        if self.private is not None:
            again = isinstance(message, Message) and self.private.sent_again(message)
            proven = by_member and self._is_news(heard, message, packet)
            self.private.announcer.heard_outdated(message.message_id, proven=proven, again=again)
            if isinstance(message, Message) and self.private.joins(message):
                return True
        return by_member and (isinstance(message, Refusal) or is_signed(message, packet))

    def _is_news(self, heard: HeardPacket, message: Message | Refusal, packet: bytes) -> bool:
        """True if a packet is signed by its sender, and did not come before."""
        if isinstance(message, Refusal) or message.kind is MessageKind.EPHEMERAL:
            return False
        if message.kind is MessageKind.SYNC:
            return self.proofs.is_next(heard)
        return is_signed(message, packet) and not self.channel.state.holds(message.message_id)

    def _take_packet(self, packet: bytes, source: str, outdated: bool = False) -> None:
        now = self._clock.now()
        heard = self.read(packet)
        message = self.proofs.refusal_of(heard) or heard.message
        if outdated and not self._counts_outdated(heard, message, packet):
            return
        for watcher in self.watchers:
            watcher(source, packet, message)
        if isinstance(message, Refusal):
            state = self.channel.state
            state.now = now
            state.reject(message.reason, message.sender_id, message.message_id, message.detail)
        elif not self.proofs.repeated(heard):
            if message.sender_id == self._gate.identity.sender_id:
                self._gate.note_claim(message)
            if source == "live" and self._exceeds(message, now):
                self.channel.receive_id(now, message)
            else:
                unproven = self.proofs.unproven(heard) or self.is_outsider(message.sender_id)
                self.channel.receive_message(now, message, packet, source, unproven=unproven)
                self._gate.copies.compare(self.channel.state, message)
        self._mark_ready(self)

    def _exceeds(self, message: Message, now: Now) -> bool:
        """True if this is more than is kept of its sender. Members of a private channel were invited: no limits."""
        sender_id, lamport = message.sender_id, message.lamport_timestamp
        state, book = self.channel.state, self._gate.book
        if sender_id == state.participant_id or self._is_checked(message.message_id):
            return False
        if self.private is not None and not self.is_outsider(sender_id):
            return False
        if lamport is not None and lamport > now.wall + state.config.max_skew:
            return False  # it waits for its date, and of those few are kept anyway
        sync = message.kind is MessageKind.SYNC
        if not sync and (self._gate.is_ignored(sender_id) or self._gate.is_crowded_out(message, now.wall)):
            return True
        fresh = not sync and (lamport is None or lamport >= max(now.wall - FRESH, self._connected_at))
        if self.private is not None:
            may_count = self.private.may_count(message)
            limits = self._limits_of_joinings if may_count else self._limits_of_outsiders
            return limits.exceeded(sender_id, now.mono, fresh=fresh, sync=sync, stranger=True)
        return self._limits.exceeded(
            sender_id, now.mono, fresh=fresh, sync=sync, stranger=not book.is_person(sender_id)
        )

    def _connection(self, event: base.Connecting | base.Connected | base.Disconnected) -> None:
        now, address, ever = self._clock.now(), self.transport.describe(), self.was_connected
        match event:
            case base.Connecting():
                events = ConnectionChanged("connecting", address, ever=ever)
            case base.Connected():
                self.was_connected = True
                self._connected_at = now.wall
                self.presence.doubt(now.mono)
                if not self._rests:
                    self.channel.connected(now)
                for extension in self._extensions:
                    extension.connected(now)
                events = ConnectionChanged("connected", address, ever=ever)
            case base.Disconnected(kind, detail, retry_at):
                self.presence.begin(now.wall)
                self.say_presence()
                self.channel.disconnected(now)
                for extension in self._extensions:
                    extension.disconnected(now)
                retry = 0 if retry_at is None else now.wall + max(0, round(retry_at * 1000) - now.mono)
                events = ConnectionChanged("disconnected", address, str(kind), detail, retry, ever)
        self._emit(self.name, events)
        self._mark_ready(self)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, StoreError):
            self._fail(error)
        else:
            self._emit(self.name, TroubleMet(f"{type(error).__name__}: {error}"))

    # What the node asks for.

    def advance(self) -> None:
        """Some deadline may be over."""
        now = self._clock.now()
        for changed in self.presence.advance(now.mono):
            self._emit_presence(changed)
        if self.presence.must_say(now):
            self.say_presence()
        self.channel.advance(now)
        for extension in self._extensions:
            when = extension.next_wake()
            if when is not None and when <= now.mono:
                extension.advance(now)
        self._mark_ready(self)

    def next_wake(self) -> int | None:
        wanted = [
            self.channel.next_wake(),
            self.presence.next_wake(),
            *(extension.next_wake() for extension in self._extensions),
        ]
        return min((when for when in wanted if when is not None), default=None)

    def publish(self, packets: list[Packet]) -> None:
        """Everything these claim is on disk by now."""
        topic = self._topics.msg
        for raw, kind, message_id in packets:
            for watcher in self.watchers:
                watcher(kind, raw, None)
            if kind in _OWN:
                self._sent.add(raw, message_id)
            self.transport.publish(topic, raw, qos=self._qos, tag=message_id if kind in _OWN else None)

    def post(self, posts: Sequence[OutgoingPacket]) -> None:
        """Send the packets of the extensions. Everything that these packets claim is on disk by now, too."""
        me = self._gate.identity.sender_id
        for what, to, payload, sent in posts:
            topic = sent_to(self._topics, what, to, me)
            self.transport.publish(topic, payload, qos=self._qos, tag=sent)

    def stolen(self, event: Rejected) -> bool:
        """True if a refusal means that somebody else uses our key."""
        return event.reason is Reason.OWN_ID_UNKNOWN and self._gate.proven_claim(event.message_id)


def open_engine(
    name: str, sender_id: str, store: Store, codec: Codec, secret: bytes, clock: Clock, config: Config
) -> Channel:
    """The engine of a channel as it is on disk, or a new one. Offline, until its transport says otherwise."""
    kept = store.channel(name)
    return Channel(
        name,
        sender_id,
        codec=codec,
        history=kept.history,
        secret=secret,
        now=clock.now(),
        config=config,
        snapshot=kept.snapshot(),
        online=False,
    )
