"""The MQTT transport: keeps a connection to the broker and reports its state."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Callable, Hashable
from random import Random
from typing import Final

from sdschat.transport import base
from sdschat.transport.address import AddressError, clear_text_problem
from sdschat.transport.base import Failure, Why, echo_topic
from sdschat.transport.event_queue import AT_ONCE, EventQueue
from sdschat.transport.mqtt import PahoLink
from sdschat.transport.mqtt_options import MqttOptions, client_context
from sdschat.transport.outbox import Outbox, QueuedPacket, SizeLimits
from sdschat.transport.session import BrokerLink, BrokerSession, End, LinkOptions, LinkTraffic, Session
from sdschat.transport.tasks import start


class ReconnectBackoff:
    """Doubling bounds, and a wait of half to all of each: many clients that lost one broker do not all come back at the
    same moment, and none waits much longer than the cut has lasted already.

    `random` gives a number from 0 to 1. Only a connection that lasted for a while resets the bound: a broker that
    accepts a connection and drops it at once must not be asked faster and faster.
    """

    __slots__ = ("_first", "_longest", "_random", "attempts")

    def __init__(self, first: float, longest: float, random: Callable[[], float]) -> None:
        if not 0 < first <= longest:
            raise ValueError(f"waiting starts at {first} s and ends at {longest} s: it must grow, from above 0")
        self._first = first
        self._longest = longest
        self._random = random
        self.attempts = 0

    def next(self) -> float:
        """Return the seconds to wait until the next attempt."""
        # The exponent is capped because a float cannot hold two to the power of a week of attempts.
        bound = min(self._longest, self._first * 2.0 ** min(self.attempts, 64))
        self.attempts += 1
        return (1 + self._random()) / 2 * bound  # never 0: that after a refusal would make a busy loop

    def reset(self) -> None:
        self.attempts = 0


_OLD, _NEW = 3, 5
_NAMES: Final = {_OLD: "MQTT 3.1.1", _NEW: "MQTT 5"}
_SUSPICIOUS: Final = 3  # short connections in a row, each ended by the broker
_GOODBYE: Final = 0.5  # seconds for the broker to receive our disconnect
_CANCEL_AGAIN: Final = 0.2  # seconds
_TOO_LARGE: Final = "Packet too large"  # MQTT's name of the reason
_KEY: Final = re.compile(r"(?<=/)[0-9a-f]{16,}(?=/|$)")
_HUNG_UP: Final = (Why.CONNECTION_LOST, Why.BROKER_CLOSED)


class _Untracked:
    """The tag of packets whose result is not reported."""


_UNTRACKED: Final = _Untracked()


class MqttTransport:
    """A `base.Transport` over MQTT. `random` gives the jitter of the back-off. `reached` is called whenever the broker
    lets us in."""

    def __init__(
        self,
        options: MqttOptions,
        random: Random | None = None,
        reached: Callable[[], object] | None = None,
    ) -> None:
        """Raise AddressError, in words for the user, for an address or credentials that cannot or must not be used."""
        problem = clear_text_problem(options.address, options.password, options.allow_clear_password)
        if problem is not None:
            raise AddressError(problem)
        self._options = options
        self._tls = client_context(options.tls) if options.address.encrypted else None
        self._reached = reached
        self._backoff = ReconnectBackoff(options.backoff_first, options.backoff_longest, (random or Random()).random)
        self._events = EventQueue(AT_ONCE)
        self._traffic = LinkTraffic(self._events.put, self._answered)
        self._outbox = Outbox(options.queue_packets, options.queue_bytes, options.window)
        self._limits = SizeLimits(options.max_payload)
        self._link: BrokerLink | None = None  # for packets that we send: from `_ready` until `_forget`
        self._sent_all = asyncio.Event()
        self._filters: dict[str, None] = {}
        self._presence = self._leaving = b""
        self._version = _NEW
        self._paused = self._closing = self._closed = self._accepted = False
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._rename()

    def _rename(self) -> None:
        # The client id stays the same while we run. With it the broker ends an old connection of ours that it still
        # believes to be alive, and publishes its last will, before the new connection announces our presence.
        self._short_lived = 0
        self._client_id = self._options.session or f"sdschat-{secrets.token_hex(12)}"
        self._echo = echo_topic(self._client_id, self._options.prefix)

    # Methods of `base.Transport`.

    def listen(self, handler: base.Handler) -> None:
        self._events.listen(handler)

    def start(self) -> None:
        if self._task is not None:
            raise RuntimeError("this transport was started before")
        self._loop = asyncio.get_running_loop()
        self._events.begin(self._loop.call_soon)
        self._task = start(self._run(), lambda error: self._events.put(base.Crashed(error)))

    def subscribe(self, topic_filter: str) -> None:
        if topic_filter not in self._filters:
            self._filters[topic_filter] = None
            if self._session is not None:
                self._session.subscribe(topic_filter)

    def unsubscribe(self, topic_filter: str) -> None:
        if topic_filter in self._filters:
            del self._filters[topic_filter]
            if self._session is not None:
                self._session.unsubscribe(topic_filter)

    def publish(self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False, tag: Hashable = None) -> None:
        problem = base.publish_problem(topic, qos)
        if problem is not None:
            raise ValueError(problem)
        self._send(QueuedPacket(topic, payload, qos, retain, tag))

    def set_presence(self, payload: bytes, leaving: bytes = b"") -> None:
        if self._options.presence_topic is None:
            raise ValueError("this transport was made without a presence topic")
        self._presence, self._leaving = payload, leaving
        if self.connected:
            self._announce(payload)

    def _announce(self, payload: bytes, *, retain: bool = True) -> None:
        if self._options.presence_topic is not None:
            self._send(QueuedPacket(self._options.presence_topic, payload, 1, retain, _UNTRACKED))

    def pause(self) -> None:
        self._paused = True
        if self._session is not None:
            self._session.pause()

    def resume(self) -> None:
        self._paused = False
        if self._session is not None:
            self._session.resume()

    def retry_now(self) -> None:
        self._hurry.set()

    @property
    def connected(self) -> bool:
        return self._session is not None and self._session.ready

    @property
    def waiting(self) -> int:
        return len(self._outbox)

    @property
    def failures(self) -> int:
        """Return the number of times the handler raised."""
        return self._events.failures

    def describe(self) -> str:
        return str(self._options.address)

    def hang_up(self) -> None:
        if self._session is not None:
            self._session.abort(Why.CLOSED, "")

    async def close(self, grace: float = 1.0) -> None:
        if self._closing:
            return
        self._closing = True
        if self._task is not None:
            await self._leave(grace)
            while not self._task.done():
                self._task.cancel()  # `wait_for` of 3.11 forgets it where its result comes in that moment
                await asyncio.wait([self._task], timeout=_CANCEL_AGAIN)
        self._closed = True
        self._link = None
        for packet in self._outbox.drain():
            self._failed(packet, Failure.CLOSED, "The program left the broker before this was taken over.")
        self._events.put(base.Disconnected(Why.CLOSED, "The program left the broker.", None))
        self._events.finish()

    async def _leave(self, grace: float) -> None:
        session = self._session
        if session is None:
            return
        done = session.ready and await self._all_sent(grace)
        if done and session.ready and self._presence:
            if self._leaving:
                self._announce(self._leaving, retain=False)
            self._announce(b"")
            done = await self._all_sent(_GOODBYE)
        if done and session.ready:
            await session.leave(_GOODBYE)
        else:
            # Without a DISCONNECT packet the broker publishes our last will, which clears our presence.
            session.abort(Why.CLOSED, "")

    # Sending.

    def _send(self, packet: QueuedPacket) -> None:
        refusal = self._refusal(packet)
        if refusal is None:
            self._pump()
        else:
            self._failed(packet, *refusal)

    def _refusal(self, packet: QueuedPacket) -> tuple[Failure, str] | None:
        """Add the packet to the outbox and return None; if that is not possible, return the reason."""
        if self._closed:
            return Failure.CLOSED, "The program has left the broker."
        size, (limit, whose) = len(packet.payload), self._limits.largest(packet.topic)
        if size > limit:
            return Failure.TOO_LARGE, f"The packet has {size} bytes, and {limit} are {whose}. Send less at once."
        if packet.qos == 0 and self._link is None:
            return Failure.NOT_CONNECTED, "There is no connection, and this was only worth sending now."
        full = self._outbox.add(packet)
        if full is not None:
            return full, f"{self.waiting} packets wait for the broker already. Wait for it, or send more slowly."
        return None

    def _pump(self) -> None:
        """Send the packets that may be under way now; the others wait for an answer, or for a connection."""
        link = self._link
        while link is not None and (packet := self._outbox.next()) is not None:
            self._outbox.sent(packet, link.publish(packet.topic, packet.payload, packet.qos, packet.retain))

    def _answered(self, packet_id: int, refusal: str | None) -> None:
        packet = self._outbox.taken(packet_id)
        if packet is None:
            return
        if refusal == _TOO_LARGE:
            self._limits.learn(packet)
            said = f"The broker takes no packet with {len(packet.payload)} bytes ({refusal}). Send less at once."
            self._failed(packet, Failure.TOO_LARGE, said)
        elif refusal is not None:
            topic = _KEY.sub("+", packet.topic)  # as a list of permissions has it
            said = f"The broker refused to pass this on: {refusal} (topic {topic})."
            self._failed(packet, Failure.REFUSED, said)
        elif packet.tag is not _UNTRACKED:
            self._events.put(base.Published(packet.tag))
        if not len(self._outbox):
            self._sent_all.set()
        self._pump()

    def _failed(self, packet: QueuedPacket, failure: Failure, detail: str) -> None:
        if packet.tag is not _UNTRACKED:
            self._events.put(base.PublishFailed(packet.tag, failure, detail))

    async def _all_sent(self, patience: float) -> bool:
        """Wait up to `patience` seconds. Return True if the broker has accepted everything by then."""
        self._sent_all.clear()
        if len(self._outbox):
            try:
                await asyncio.wait_for(self._sent_all.wait(), patience)
            except TimeoutError:
                return False
        return True

    # Connecting.

    async def _run(self) -> None:
        while not self._closing:
            self._events.put(base.Connecting(self.describe(), self._backoff.attempts + 1))
            end = await self._once()
            if end.why is Why.PROTOCOL and self._version == _NEW:
                # Old brokers close an MQTT 5 connection without an answer. So after a protocol failure try MQTT 3.1.1.
                self._version = _OLD
                end = await self._once()
            if end.why is Why.PROTOCOL:
                self._version = _NEW
            await self._pause_before_next(end)

    async def _once(self) -> End:
        """Run one connection, or one failed attempt. Return the reason for its end."""
        try:
            if self._options.before_connect is not None:
                await self._options.before_connect()
            if self._closing:
                return End(Why.CLOSED, "")
            self._session = Session(
                self._options, self._link_options(), self._filters, self._traffic, self._ready, PahoLink
            )
            if self._paused:
                self._session.pause()
            end = await self._session.run()
        except Exception as error:
            # No error may stop the attempts for good: to the user that would look like a network that never comes back.
            end = End(Why.UNREACHABLE, str(error) or type(error).__name__)
        self._forget(end)
        return end

    async def _pause_before_next(self, end: End) -> None:
        if self._closing:
            return
        delay = self._backoff.next()
        self._hurry.clear()
        self._events.put(base.Disconnected(end.why, end.detail, self._loop.time() + delay))
        try:
            await asyncio.wait_for(self._hurry.wait(), delay)
        except TimeoutError:
            return

    def _link_options(self) -> LinkOptions:
        options = self._options
        return LinkOptions(
            address=options.address,
            client_id=self._client_id,
            version=self._version,
            keepalive=options.keepalive,
            dial_timeout=options.connect_timeout / 2,
            max_incoming=options.max_incoming,
            echo=self._echo,
            password=options.password,
            tls=self._tls,
            will_topic=options.presence_topic,
            will=self._leaving,
            session_kept=options.session_kept,
            accepted=self._accepted,
        )

    def _forget(self, end: End) -> None:
        """Clean up after a connection that ended or was never made."""
        session, self._session = self._session, None
        if session is None or session.ready_at is None:
            return
        if self._loop.time() - session.ready_at >= self._options.stable_after:
            self._backoff.reset()
            self._short_lived = 0
        elif end.why in _HUNG_UP:
            self._short_lived += 1
        # Many brokers close a connection without saying that another client came with our id. Two clients with one id
        # would disconnect each other for ever.
        if end.why is Why.TAKEN_OVER or self._short_lived >= _SUSPICIOUS:
            self._rename()
        self._link = None
        for packet, failure in self._outbox.connection_lost(hung_up=end.why in _HUNG_UP):
            if failure is Failure.REFUSED:
                advice = "Send less." if self._limits.learn(packet) else "Look in its log for the reason."
                detail = f"The broker hung up each time these {packet.size} bytes came. {advice}"
            else:
                detail = "The connection was lost while this was on its way."
            self._failed(packet, failure, detail)

    def _ready(self, opened: BrokerSession, link: BrokerLink) -> None:
        """Begin to send: first the packets that waited for the connection."""
        self._link, self._accepted = link, True
        self._limits.broker = opened.max_packet
        self._outbox.window = max(1, min(self._options.window, opened.window))
        limit, _ = self._limits.largest("")
        self._events.put(
            base.Connected(
                self.describe(), _NAMES[self._version], limit, self._options.address.encrypted, opened.resumed
            )
        )
        if self._presence:
            self._announce(self._presence)
        self._pump()
        if self._reached is not None:
            self._reached()
