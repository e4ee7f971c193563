"""One channel of a node: its engine, its transport, and what passes between the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from sdschat.node.channel.content import ContentGate
from sdschat.node.channel.extension import ExtensionOutput, Handler, OutgoingPacket, heard_at, sent_to
from sdschat.node.channel.presence import ChannelPresence
from sdschat.node.channel.proofs import HeardPacket, Proofs
from sdschat.node.clock import Clock
from sdschat.node.events import ConnectionChanged, HandedOver, NotPublished, TroubleMet, What
from sdschat.sds.channel import Channel
from sdschat.sds.config import Config
from sdschat.sds.events import Rejected
from sdschat.sds.state import Packet, Ready
from sdschat.sds.values import Codec, Message, MessageKind, Now, Reason, Refusal
from sdschat.store.errors import StoreError
from sdschat.store.store import Store
from sdschat.transport import base
from sdschat.transport.topics import Topics

if TYPE_CHECKING:
    from sdschat.node.private.membership import PrivateChannel

_OWN: Final = frozenset({"message", "resend", "ephemeral"})

Tell = Callable[[str, What], None]
# What came ("live", "store", "sync") or goes out (`Packet.why`), its bytes, and what they are: None for ours.
Watcher = Callable[[str, bytes, Message | Refusal | None], None]


class ChannelExtension(Protocol):
    """All verbs are called on the loop's thread. Input of others never raises out of them."""

    def attach(self, room: ChannelSession) -> None:
        """Called once, before the channel connects: the place for `room.handle`."""

    def connected(self, now: Now) -> None: ...

    def disconnected(self, now: Now) -> None: ...

    def next_wake(self) -> int | None:
        """When `advance` is to be called, on the monotonic clock in milliseconds; None: not by itself."""

    def advance(self, now: Now) -> None:
        """Some deadline may be over."""

    def take(self, ready: Ready, now: Now) -> ExtensionOutput:
        """Once in every turn in which something of this channel stirred. `ready` is the engine's of this turn, and
        about to be saved: a new message's bytes stand in its `Append` write, and nowhere else yet."""


class ChannelSession:
    """Feeds the engine. When something is ready it says so (`stir`), and waits for the node to take it."""

    def __init__(
        self,
        channel: Channel,
        topics: Topics,
        transport: base.Transport,
        desk: ContentGate,
        codec: Codec,
        clock: Clock,
        qos: int,
        *,
        unsigned_counts: bool = False,
        dialect: str = "spec",
        tell: Tell,
        stir: Callable[[ChannelSession], None],
        fail: Callable[[Exception], None],
    ) -> None:
        self.name = topics.channel
        self.dialect = dialect
        self.channel = channel
        self.transport = transport
        self.presence = ChannelPresence(self.name, desk.identity, desk.book)
        self.was_connected = False
        self._topics = topics
        self._desk = desk
        self.proofs = Proofs(self.name, codec, desk, unsigned_counts)
        self._clock = clock
        self._qos = qos
        self._tell = tell
        self._stir = stir
        self._fail = fail
        self._parts: list[ChannelExtension] = []
        self._handlers: dict[str, Handler] = {}
        self.private: PrivateChannel | None = None
        self.watchers: list[Watcher] = []  # see every packet of the channel, and must not raise

    @property
    def parts(self) -> tuple[ChannelExtension, ...]:
        return tuple(self._parts)

    def attach(self, part: ChannelExtension) -> None:
        """Something else that this channel does, from now on."""
        self._parts.append(part)
        part.attach(self)

    def handle(self, what: str, handler: Handler) -> None:
        """Hear what comes to us on the topics of `what`: sync, store/query, store/answer or timber. One handler each.
        What the broker kept from earlier and our own packets do not come."""
        if what in self._handlers:
            raise ValueError(f"{what} is handled already")
        self._handlers[what] = handler
        self.transport.subscribe(heard_at(self._topics, what, self._desk.identity.sender_id))

    def stir(self) -> None:
        """Something is ready: there will be a turn soon."""
        self._stir(self)

    def receive(self, packet: bytes, via: str) -> None:
        """A packet of the channel that came another way: store or sync. Any bytes will do."""
        self._take_packet(packet, via)

    def start(self) -> None:
        self.transport.listen(self._heard)
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
        self.transport.set_presence(*self.presence.payloads(self._desk.nick, self._clock.now()))

    # What the transport tells. An exception in here is caught by the transport and comes back as HandlerFailed.

    def _heard(self, event: base.Event) -> None:
        match event:
            case base.Received():
                self._received(event)
            case base.Published(tag):
                if callable(tag):
                    tag(None)
                elif isinstance(tag, str):
                    self._tell(self.name, HandedOver(tag))
            case base.PublishFailed(tag, failure, detail):
                if callable(tag):
                    tag(detail)
                elif failure is not base.Failure.CLOSED:
                    self._tell(self.name, NotPublished(tag if isinstance(tag, str) else "", str(failure), detail))
            case base.HandlerFailed(error, _):
                self._failed(error)
            case base.Crashed(error):
                self._fail(error)
            case base.SubscribeRefused(topic_filter, detail):
                self._tell(self.name, TroubleMet(f"the broker refused the subscription to {topic_filter}: {detail}"))
            case base.ProbeUnanswered():
                pass
            case _:
                self._connection(event)

    def _received(self, event: base.Received) -> None:
        if event.topic == self._topics.msg:
            self._take_packet(event.payload, "live", event.outdated)
            return
        place = self._topics.place(event.topic)
        if place is None or (event.outdated and place.frm and not self._is_member(place.frm)):
            return
        if place.what == "who":
            changed = self.presence.heard(place.frm, event.payload, self._clock.now(), event.retained)
            if changed is not None:
                self._tell(self.name, changed)
            return
        handler = self._handlers.get(place.what)
        if handler is not None and not event.retained and place.frm != self._desk.identity.sender_id:
            handler(place.frm, event.payload, self._clock.now())
            self._stir(self)

    def read(self, packet: bytes) -> HeardPacket:
        """Decode a packet into a message that is what its author signed, or into a refusal."""
        heard = self.proofs.decode(packet)
        message = heard.message
        if isinstance(message, Refusal) or message.kind is MessageKind.SYNC:
            return heard
        refusal = self._desk.refusal_of(message, self.channel.state.holds(message.message_id))
        return heard if refusal is None else HeardPacket(refusal, None)

    def _is_member(self, sender_id: str) -> bool:
        """Members who were away may still use an earlier key. Those who were removed have no other."""
        return self.private is not None and self.private.has(sender_id)

    def _take_packet(self, packet: bytes, via: str, outdated: bool = False) -> None:
        now = self._clock.now()
        heard = self.read(packet)
        message = self.proofs.refusal_of(heard) or heard.message
        if outdated and not self._is_member(message.sender_id or ""):
            return
        for watcher in self.watchers:
            watcher(via, packet, message)
        if isinstance(message, Refusal):
            state = self.channel.state
            state.now = now
            state.reject(message.reason, message.sender_id, message.message_id, message.detail)
        elif not self.proofs.repeated(heard):
            if message.sender_id == self._desk.identity.sender_id:
                self._desk.note_claim(message)
            self.channel.receive_message(now, message, packet, via, unproven=self.proofs.unproven(heard))
        self._stir(self)

    def _connection(self, event: base.Connecting | base.Connected | base.Disconnected) -> None:
        now, address, ever = self._clock.now(), self.transport.describe(), self.was_connected
        match event:
            case base.Connecting():
                told = ConnectionChanged("connecting", address, ever=ever)
            case base.Connected():
                self.was_connected = True
                self.presence.doubt(now.mono)
                self.channel.connected(now)
                for part in self._parts:
                    part.connected(now)
                told = ConnectionChanged("connected", address, ever=ever)
            case base.Disconnected(why, detail, retry_at):
                self.presence.begin(now.wall)
                self.say_presence()
                self.channel.disconnected(now)
                for part in self._parts:
                    part.disconnected(now)
                retry = 0 if retry_at is None else now.wall + max(0, round(retry_at * 1000) - now.mono)
                told = ConnectionChanged("disconnected", address, str(why), detail, retry, ever)
        self._tell(self.name, told)
        self._stir(self)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, StoreError):
            self._fail(error)
        else:
            self._tell(self.name, TroubleMet(f"{type(error).__name__}: {error}"))

    # What the node asks for.

    def advance(self) -> None:
        """Some deadline may be over."""
        now = self._clock.now()
        for changed in self.presence.advance(now.mono):
            self._tell(self.name, changed)
        if self.presence.must_say(now):
            self.say_presence()
        self.channel.advance(now)
        for part in self._parts:
            when = part.next_wake()
            if when is not None and when <= now.mono:
                part.advance(now)
        self._stir(self)

    def next_wake(self) -> int | None:
        wanted = [self.channel.next_wake(), self.presence.next_wake(), *(part.next_wake() for part in self._parts)]
        return min((when for when in wanted if when is not None), default=None)

    def publish(self, packets: list[Packet]) -> None:
        """Everything these claim is on disk by now."""
        topic = self._topics.msg
        for raw, why, message_id in packets:
            for watcher in self.watchers:
                watcher(why, raw, None)
            self.transport.publish(topic, raw, qos=self._qos, tag=message_id if why in _OWN else None)

    def post(self, posts: Sequence[OutgoingPacket]) -> None:
        """Send the packets of the extensions. Everything that these packets claim is on disk by now, too."""
        me = self._desk.identity.sender_id
        for what, to, payload, sent in posts:
            topic = sent_to(self._topics, what, to, me)
            self.transport.publish(topic, payload, qos=self._qos, tag=sent)

    def stolen(self, event: Rejected) -> bool:
        """True if a refusal means that somebody else uses our key."""
        return event.reason is Reason.OWN_ID_UNKNOWN and self._desk.proven_claim(event.message_id)


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
