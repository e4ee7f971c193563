"""One channel of a node: its engine, its transport, and what passes between the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from sdschat.node.channel.broker_answers import BrokerAnswers
from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.extension import ExtensionOutput, Handler, OutgoingPacket, Watcher, heard_at, sent_to
from sdschat.node.channel.live_packets import LivePackets
from sdschat.node.channel.presence import FRESH, ChannelPresence, PresenceNews, PresenceRows
from sdschat.node.channel.proofs import HeardPacket, Proofs
from sdschat.node.channel.reception import PacketReception
from sdschat.node.channel.refusals import RefusalCounter
from sdschat.node.channel.sender_limits import SenderLimits
from sdschat.node.clock import Clock
from sdschat.node.events import ConnectionChanged, EventBody, PresenceChanged, TroubleMet
from sdschat.sds.channel import Channel
from sdschat.sds.events import Rejected
from sdschat.sds.state import Packet, Ready
from sdschat.sds.values import Codec, Now, Reason
from sdschat.store.errors import StoreError
from sdschat.transport import base
from sdschat.transport.base import Topics

if TYPE_CHECKING:
    from sdschat.node.members.channel import MembersChannel
    from sdschat.node.private.membership import PrivateChannel

_OWN: Final = frozenset({"message", "resend", "ephemeral"})
_EARLY_KEPT: Final = 64

Emit = Callable[[str, EventBody], None]


class ChannelExtension(Protocol):
    """Something that a channel does beside the engine. `PassiveExtension` has defaults for all but the first and the
    last verb.

    All verbs are called on the loop's thread. None of them may raise because of what others sent.
    """

    def attach(self, session: ChannelSession) -> None:
        """Keep the session, and hear topics (`session.handle`). Called once, before the channel connects."""

    def connected(self, now: Now) -> None: ...

    def disconnected(self, now: Now) -> None: ...

    def next_wake(self) -> int | None:
        """Return the time of the next `advance`, in milliseconds on the monotonic clock; None: there is no deadline."""

    def advance(self, now: Now) -> None:
        """Do what is due."""

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        """Return what is to be saved, sent and told in this turn. Called in every turn in which something of this
        channel is ready (`session.mark_ready`). `ready` is the output of the engine in this turn, which is not saved
        yet: the bytes of a new message are in its `Append` write alone."""


class ChannelSession:
    """Gives the engine what comes in. What is ready then waits until the node takes it, in the next turn."""

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
        private: PrivateChannel | None = None,
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
        self.proofs = Proofs(self.name, codec, gate.book, unsigned_counts)
        self.presence = ChannelPresence(self.name, gate.identity, gate.book, self.proofs.signs_sync)
        self.presence_rows = PresenceRows(self.name)
        self.refusals = RefusalCounter()
        self._answers = BrokerAnswers()
        self.was_connected = self.leaves = False
        self._nameless: set[str] = set()  # outsiders who are here, and whose nicks are not shown
        self._stands_still = False
        self._early: dict[str, base.Received] = {}  # presence under an earlier key, of those who are no members yet
        self._topics = topics
        self._gate = gate
        self._clock = clock
        self._qos = qos
        self._emit = emit
        self._mark_ready = mark_ready
        self._fail = fail
        self._extensions: list[ChannelExtension] = []
        self._handlers: dict[str, Handler] = {}
        self.private = private
        self.members: MembersChannel | None = None  # its log is that of Timber, and the engine of SDS rests
        self._announced: Callable[[bytes], None] | None = None
        self.watchers: list[Watcher] = []  # see every packet of the channel, and must not raise
        self.reception = PacketReception(channel, gate, self.proofs, limits, self.watchers, private)
        self.live = LivePackets(self.reception, channel, clock, self._took, sealed=private is not None)

    @property
    def extensions(self) -> tuple[ChannelExtension, ...]:
        return tuple(self._extensions)

    def attach(self, extension: ChannelExtension) -> None:
        """Add an extension to this channel."""
        self._extensions.append(extension)
        extension.attach(self)

    def handle(self, what: str, handler: Handler) -> None:
        """Set the handler of what comes on the topics of `what`: sync, store/query, store/answer or timber. It gets
        neither what the broker kept from earlier nor our own packets."""
        if what in self._handlers:
            raise ValueError(f"{what} is handled already")
        self._handlers[what] = handler
        self.transport.subscribe(heard_at(self._topics, what, self._gate.identity.sender_id))

    def hear_announcements(self, handler: Callable[[bytes], None]) -> None:
        """Set the handler of what is announced as the data set of the members, kept by the broker or not."""
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

    @property
    def speaks(self) -> bool:
        """True unless we are no member of a private channel, and are not joining it: whatever we sent would be in
        vain."""
        return self.private is None or self.private.is_member or bool(self.private.record.link)

    @property
    def gives_since_join(self) -> bool:
        """True in a private channel that gives each member nothing that was written before they joined."""
        return self.private is not None and self.private.gives_since_join

    def mark_ready(self) -> None:
        """Ask for a turn, because something is ready."""
        self._mark_ready(self)

    def receive(self, packet: bytes, source: str) -> None:
        """Take a packet of the channel that came another way: from a Store, or by sync. It may be any bytes."""
        if self.reception.receive(self._clock.now(), packet, source):
            self._mark_ready(self)

    def start(self) -> None:
        self.transport.listen(self._heard)
        if not self._rests:
            self.transport.subscribe(self._topics.msg)
        self.transport.subscribe(self._topics.who_all)
        self.presence.begin(self._clock.now().wall)
        self.say_presence()
        self.transport.start()

    def interpose(self, transport: base.Transport) -> None:
        """Use this transport, which has started and leads to the present one."""
        self.transport = transport
        transport.listen(self._heard)

    def ask_presence(self) -> None:
        """Have the broker tell again who is here, as it does on a new connection."""
        self.transport.unsubscribe(self._topics.who_all)
        self.transport.subscribe(self._topics.who_all)

    def say_presence(self) -> None:
        """Publish our presence, for everybody who looks."""
        self._gate.book.present.note(self._gate.nick, self._gate.identity.public_key)
        self.transport.set_presence(*self.presence.payloads(self._gate.nick, self._clock.now()))

    # What the transport tells. An exception in here is caught by the transport and comes back as HandlerFailed.

    def _heard(self, event: base.Event) -> None:
        match event:
            case base.Received():
                self._received(event)
            case base.Published(tag):
                if callable(tag):
                    tag(None)
                elif (told := self._answers.taken(tag)) is not None:
                    self._emit(self.name, told)
            case base.PublishFailed(tag, failure, detail):
                if callable(tag):
                    tag(detail)
                elif failure is not base.Failure.CLOSED:
                    self._emit(self.name, self._answers.failed(tag, failure, detail))
            case base.HandlerFailed(StoreError() as error, _) | base.Crashed(error):
                self._fail(error)
            case base.HandlerFailed(error, _):
                self._emit(self.name, TroubleMet(f"{type(error).__name__}: {error}"))
            case base.SubscribeRefused(_, detail) | base.ProbeUnanswered(_, detail):
                if detail:
                    self._emit(self.name, TroubleMet(detail))
            case _:
                self._connection(event)

    def _received(self, event: base.Received) -> None:
        if event.topic == self._topics.msg:
            if not self._rests:
                self.live.hear(event)
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
        # A member who was away may still use an earlier key; one who was removed has no other.
        if event.outdated and place.frm and not (self.private is not None and self.private.has(place.frm)):
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

    def _took(self, problem: Exception | None) -> None:
        if problem is None:
            self._mark_ready(self)
        else:
            self._heard(base.HandlerFailed(problem, None))

    def _emit_presence(self, changed: PresenceNews) -> None:
        """Tell who is here, or whose clock keeps them from it, and nothing that somebody says who is no member."""
        if self.is_outsider(changed.sender_id):
            self._nameless.add(changed.sender_id)
            changed = changed._replace(nick="")
        elif isinstance(changed, PresenceChanged):
            self.presence_rows.changed(changed, self._clock.now())
            if changed.online and (key := self.presence.keys.get(changed.sender_id)) is not None:
                self._gate.book.present.note(changed.nick, key)
        self._emit(self.name, changed)

    def members_changed(self) -> None:
        """Look again at the presence of those who had an earlier key, or were no members, when it came. Once we are no
        member ourselves, nothing goes out any more."""
        if not self.speaks:
            self.channel.disconnected(self._clock.now())
        elif self.transport.connected and not self._rests and not self._stands_still:
            self.channel.connected(self._clock.now())
        early, self._early = self._early, {}
        for event in early.values():
            self._received(event)
        for sender_id in [one for one in self._nameless if not self.is_outsider(one)]:
            self._nameless.discard(sender_id)
            if sender_id in self.presence.online:
                self._emit_presence(PresenceChanged(sender_id, self.presence.online[sender_id], True))
        self._nameless &= self.presence.online.keys()

    def is_outsider(self, sender_id: str) -> bool:
        """True for somebody who has the key of this private channel, and is no member of it."""
        return self.private is not None and self.private.is_outsider(sender_id)

    def read(self, packet: bytes) -> HeardPacket:
        """Decode a packet into a message that is what its author signed, or into a refusal."""
        return self.reception.read(packet)

    def _connection(self, event: base.Connecting | base.Connected | base.Disconnected) -> None:
        now, address, ever = self._clock.now(), self.transport.describe(), self.was_connected
        match event:
            case base.Connecting():
                changed = ConnectionChanged("connecting", address, ever=ever)
            case base.Connected():
                if not ever:
                    self.presence_rows.came(self._gate.identity.sender_id, now)
                self.was_connected = True
                self.reception.connected_at = now.wall
                self.presence.doubt(now.mono)
                self._came(now)
                changed = ConnectionChanged("connected", address, ever=ever)
            case base.Disconnected(kind, detail, retry_at):
                self.presence.begin(now.wall)
                self.say_presence()
                self._went(now)
                retry = 0 if retry_at is None else now.wall + max(0, round(retry_at * 1000) - now.mono)
                changed = ConnectionChanged("disconnected", address, str(kind), detail, retry, ever)
        self._emit(self.name, changed)
        self._mark_ready(self)

    def _came(self, now: Now) -> None:
        """Tell the engine and the extensions that we are connected, unless they stand still."""
        if not self._stands_still:
            if not self._rests and self.speaks:
                self.channel.connected(now)
            for extension in self._extensions:
                extension.connected(now)

    def _went(self, now: Now) -> None:
        self.channel.disconnected(now)
        for extension in self._extensions:
            extension.disconnected(now)

    # What the node asks for.

    def stand_still(self) -> None:
        """Send nothing and give nothing up until `go_on`. Our presence alone is still repeated."""
        self._stands_still = True
        self._went(self._clock.now())

    def go_on(self) -> None:
        self._stands_still = False
        if self.transport.connected:
            self._came(self._clock.now())
        self._mark_ready(self)

    async def leave(self, grace: float) -> None:
        """End the connection, in at most so many seconds, and note in the journal that the channel is left."""
        self.leaves = True
        await self.transport.close(grace)
        self.live.waiting.finish()
        if self.was_connected:
            self.presence_rows.went(self._gate.identity.sender_id, self._clock.now())
            self._mark_ready(self)

    def advance(self) -> None:
        """Do what is due."""
        now = self._clock.now()
        for changed in self.presence.advance(now, self._is_heard, lambda one: self._heard_since(one, now.wall - FRESH)):
            self._emit_presence(changed)
        if self.presence.must_say(now):
            self.say_presence()
        if self._stands_still:
            return
        self.channel.advance(now)
        for extension in self._extensions:
            when = extension.next_wake()
            if when is not None and when <= now.mono:
                extension.advance(now)
        self._mark_ready(self)

    def _is_heard(self, sender_id: str) -> bool:
        """True if a participant said something since this connection began."""
        return self._heard_since(sender_id, self.reception.connected_at)

    def _heard_since(self, sender_id: str, wall: int) -> bool:
        return self.reception.last_heard.at(sender_id, self._clock.now()) >= wall

    def next_wake(self) -> int | None:
        wanted = [self.presence.next_wake()]
        if not self._stands_still:
            wanted += [self.channel.next_wake(), *(extension.next_wake() for extension in self._extensions)]
        return min((when for when in wanted if when is not None), default=None)

    def publish(self, packets: list[Packet]) -> None:
        """Send packets of the engine. Everything that they claim is on disk by now."""
        for raw, kind, message_id in packets:
            for watcher in self.watchers:
                watcher(kind, raw, None)
            if kind in _OWN:
                self.live.sent.add(raw, message_id)
            self.transport.publish(self._topics.msg, raw, qos=self._qos, tag=message_id if kind in _OWN else "")

    def send_packets(self, packets: Sequence[OutgoingPacket]) -> None:
        """Send packets of the extensions. Everything that they claim is on disk by now. Once we are no member, none is
        sent: not even answers to those who have not heard of the removal."""
        if not self.speaks:
            return
        me = self._gate.identity.sender_id
        for what, to, payload, sent in packets:
            topic = sent_to(self._topics, what, to, me)
            self.transport.publish(topic, payload, qos=self._qos, tag=sent)

    def stolen(self, event: Rejected) -> bool:
        """True if a refusal means that somebody else uses our key."""
        return event.reason is Reason.OWN_ID_UNKNOWN and self._gate.proven_claim(event.message_id)
