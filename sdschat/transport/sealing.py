"""Private channels: one layer between a channel and the broker, which seals what goes out and opens what comes in.

Above it nothing changes: the same topics and packets as in an open channel. Below it the broker sees an opaque channel,
hashed participants, and sealed payloads of a few sizes. A sealed payload holds its topic, as the layers above name it,
and the packet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Protocol

from sdschat.transport import base
from sdschat.transport.base import DEFAULT_PREFIX, Topics, Transport, decoded, normal_prefix
from sdschat.transport.event_queue import EventQueue, Schedule

MAX_WAITING: Final = 64
MAX_WAITING_BYTES: Final = 1024 * 1024
_MAX_LEARNED: Final = 4096
_WILDCARDS: Final = ("+", "#")
NO_EPOCH: Final = b""  # of a packet that is not to be sent: the key for it is not here
_LENGTH_BYTES: Final = 2  # of the inner topic, which stands before the packet


class Unopened(Enum):
    """The reason why a payload was not opened."""

    STRANGE = auto()  # no sealed packet, or a wrong tag: made by somebody without the key
    UNKNOWN_EPOCH = auto()  # sealed with a key that may still come


class OpenedPacket:
    """The bytes that were sealed; `outdated` if the key was that of an earlier epoch."""

    __slots__ = ("outdated", "plain")

    def __init__(self, plain: bytes, outdated: bool) -> None:
        self.plain = plain
        self.outdated = outdated


class PacketSealer(Protocol):
    """The keys of one private channel."""

    @property
    def channel_level(self) -> str:
        """Return the level of a topic that stands for the channel."""

    def level(self, name: str) -> str:
        """Return the level of a topic that stands for a participant."""

    def seal(self, topic: str, plain: bytes, epoch_id: bytes | None = None) -> bytes:
        """Seal with the key of this epoch, or of the present one."""

    def open(self, topic: str, packet: bytes) -> OpenedPacket | Unopened: ...


class SealedTopics:
    """The topics of a private channel as the broker sees them."""

    def __init__(self, sealer: PacketSealer, topics: Topics, prefix: str = DEFAULT_PREFIX) -> None:
        self._sealer = sealer
        self._inside = topics.everything.removesuffix("#")
        self._outside = f"{normal_prefix(prefix)}/{sealer.channel_level}/"

    def outside(self, topic: str) -> str:
        """Return the topic or filter at the broker for one of the channel."""
        return self._outside + self._hashed(self._rest(topic))

    def frame(self, topic: str, packet: bytes) -> bytes:
        """Return the bytes to seal: the topic below the channel, and the packet."""
        rest = self._rest(topic).encode()
        return len(rest).to_bytes(_LENGTH_BYTES) + rest + packet

    def unframe(self, outside: str, plain: bytes) -> tuple[str, bytes] | None:
        """Return the topic and the packet, or None unless they were sealed for this topic of the broker."""
        end = _LENGTH_BYTES + int.from_bytes(plain[:_LENGTH_BYTES])
        try:
            rest = plain[_LENGTH_BYTES:end].decode()
        except UnicodeDecodeError:
            return None
        if end > len(plain) or self._outside + self._hashed(rest) != outside:
            return None
        return self._inside + rest, plain[end:]

    def _rest(self, topic: str) -> str:
        if not topic.startswith(self._inside):
            raise ValueError(f"{topic!r} is not a topic of this channel")
        return topic.removeprefix(self._inside)

    def _hashed(self, rest: str) -> str:
        """Replace the names of participants: all levels but the first, or the first two of a Store's topics."""
        levels = rest.split("/")
        words = 2 if levels[0] == "store" else 1
        return "/".join([*levels[:words], *(self._level(level) for level in levels[words:])])

    def _level(self, level: str) -> str:
        return level if level in _WILDCARDS else self._sealer.level(decoded(level) or level)


@dataclass(slots=True)
class SealingCounts:
    """Counts of the packets that did not come through."""

    strange: int = 0
    forgotten: int = 0  # of an unknown epoch, and dropped because others came


class SealedTransport:
    """A transport of one private channel. `inner` has the presence topic `topics.outside(presence_topic)`."""

    def __init__(
        self, inner: Transport, sealer: PacketSealer, topics: SealedTopics, presence_topic: str, schedule: Schedule
    ) -> None:
        self.counts = SealingCounts()
        # The epoch to seal a packet of a topic with; None: the present one; `NO_EPOCH`: it is not sent.
        self.epoch_of: Callable[[str, bytes], bytes | None] = _present
        self._inner = inner
        self._sealer = sealer
        self._topics = topics
        self._presence_topic = presence_topic
        self._people = f"{presence_topic.rpartition('/')[0]}/"
        self._presence = self._leaving = b""
        self._schedule = schedule
        self._events = EventQueue()
        self._waiting: deque[base.Received] = deque()
        self._waiting_bytes = 0
        self._learned: dict[str, str] = {}  # topics of presence, of the broker and of the channel
        inner.listen(self._heard)

    def keys_changed(self) -> None:
        """Seal the presence with the new key, and try the packets again that wait for one."""
        if self._presence:
            self.set_presence(self._presence, self._leaving)
        waiting, self._waiting, self._waiting_bytes = self._waiting, deque(), 0
        for event in waiting:
            self._received(event)

    # Incoming.

    def _heard(self, event: base.Event) -> None:
        if isinstance(event, base.Received):
            self._received(event)
        else:
            self._events.put(event)

    def _received(self, event: base.Received) -> None:
        if not event.payload:  # the broker removes what a topic kept; it can do so at any time anyway
            topic = self._learned.pop(event.topic, None)  # whoever comes back is learned again
            if topic is None:
                _acknowledge(event)
            else:
                self._events.put(event._replace(topic=topic))
            return
        opened = self._sealer.open(event.topic, event.payload)
        if opened is Unopened.UNKNOWN_EPOCH:
            self._hold_back(event)
            return
        found = None if isinstance(opened, Unopened) else self._topics.unframe(event.topic, opened.plain)
        if found is None or isinstance(opened, Unopened):
            self.counts.strange += 1
            _acknowledge(event)
            return
        topic, packet = found
        if topic.startswith(self._people) and len(self._learned) < _MAX_LEARNED:
            self._learned[event.topic] = topic
        self._events.put(event._replace(topic=topic, payload=packet, outdated=opened.outdated))

    def _hold_back(self, event: base.Received) -> None:
        """Keep a packet until its key comes. The oldest go first: SDS brings them again.

        It is acknowledged at once. Acknowledgements go out in order, and anybody can make such a packet: those of all
        that came after it would wait for a key that never comes, and the broker would send nothing more.
        """
        _acknowledge(event)
        self._waiting.append(event._replace(receipt=None))
        self._waiting_bytes += len(event.payload)
        while len(self._waiting) > MAX_WAITING or self._waiting_bytes > MAX_WAITING_BYTES:
            self._waiting_bytes -= len(self._waiting.popleft().payload)
            self.counts.forgotten += 1

    # Outgoing.

    def publish(self, topic: str, payload: bytes, *, qos: int = 1, retain: bool = False, tag: Hashable = None) -> None:
        outside, epoch_id = self._topics.outside(topic), self.epoch_of(topic, payload)
        if epoch_id == NO_EPOCH:
            return
        # An empty retained payload is how MQTT removes what a topic keeps.
        packet = b"" if retain and not payload else self._seal(outside, topic, payload, epoch_id)
        self._inner.publish(outside, packet, qos=qos, retain=retain, tag=tag)

    def publish_in_epoch(self, epoch_id: bytes, topic: str, payload: bytes) -> None:
        """Publish with the key of another epoch than the present one, for those who have no newer key."""
        outside = self._topics.outside(topic)
        self._inner.publish(outside, self._sealer.seal(outside, self._topics.frame(topic, payload), epoch_id))

    def set_presence(self, payload: bytes, leaving: bytes = b"") -> None:
        self._presence, self._leaving = payload, leaving
        topic, outside = self._presence_topic, self._topics.outside(self._presence_topic)
        sealed_leaving = self._seal(outside, topic, leaving) if leaving else b""
        self._inner.set_presence(self._seal(outside, topic, payload), sealed_leaving)

    def _seal(self, outside: str, topic: str, payload: bytes, epoch_id: bytes | None = None) -> bytes:
        return self._sealer.seal(outside, self._topics.frame(topic, payload), epoch_id)

    def subscribe(self, topic_filter: str) -> None:
        self._inner.subscribe(self._topics.outside(topic_filter))

    def unsubscribe(self, topic_filter: str) -> None:
        self._inner.unsubscribe(self._topics.outside(topic_filter))

    # The rest of `base.Transport`.

    def listen(self, handler: base.Handler) -> None:
        self._events.listen(handler)

    def start(self) -> None:
        self._events.begin(self._schedule)
        self._inner.start()

    def hang_up(self) -> None:
        self._inner.hang_up()

    async def close(self, grace: float = 1.0) -> None:
        await self._inner.close(grace)
        self._events.finish()

    def pause(self) -> None:
        self._inner.pause()

    def resume(self) -> None:
        self._inner.resume()

    def retry_now(self) -> None:
        self._inner.retry_now()

    @property
    def connected(self) -> bool:
        return self._inner.connected

    @property
    def waiting(self) -> int:
        return self._inner.waiting

    def describe(self) -> str:
        return self._inner.describe()


def _present(_topic: str, _payload: bytes) -> None:
    pass


def _acknowledge(event: base.Received) -> None:
    """Tell a broker that keeps our session that this packet need not come again."""
    if event.receipt is not None:
        event.receipt.acknowledge()
