"""An attacker: a plain MQTT client with keys of its own, and the packets that it makes.

It speaks to loopback alone, and sends at most `MOST` packets.
"""

from __future__ import annotations

import secrets
import threading
import time
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from sdschat.identity.content import seal
from sdschat.identity.place import filter_digest, history_digest
from sdschat.identity.presence import CHANCE_BYTES, PresenceKind, seal_presence
from sdschat.identity.signing import SEED_BYTES, Identity
from sdschat.sds.ids import content_id
from sdschat.sds.values import HistoryEntry, Message
from sdschat.transport.base import Topics
from sdschat.wire.chat_codec import DEVICE_BYTES, PLACED_NONCE_BYTES, Place
from sdschat.wire.sds_codec import SdsCodec

LOOPBACK = "127.0.0.1"
MOST = 200_000
_PATIENCE = 60.0
_KEPT = 256
_CODEC = SdsCodec()


def new_key() -> Identity:
    return Identity(secrets.token_bytes(SEED_BYTES))


def now() -> int:
    """Return the time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def signed_packet(
    key: Identity, channel: str, nick: str, text: str, lamport: int, history: tuple[str, ...] = ()
) -> bytes:
    """Return a message as our own make writes it, with any date and any history."""
    entries = tuple(HistoryEntry(message_id) for message_id in history)
    place = Place(secrets.token_bytes(DEVICE_BYTES), 1, b"", lamport, history_digest(entries), filter_digest(None))
    nonce = secrets.token_bytes(PLACED_NONCE_BYTES)
    content = seal(key, channel, text, nick=nick, sent_time=now(), nonce=nonce, place=place)
    return _CODEC.encode(Message(key.sender_id, content_id(content), channel, lamport, entries, content=content))


def unsigned_packet(
    sender_id: str, channel: str, text: str, lamport: int, history: tuple[str, ...] = ()
) -> tuple[str, bytes]:
    """Return the id and the bytes of a message as another make writes it."""
    entries = tuple(HistoryEntry(message_id) for message_id in history)
    message_id = secrets.token_hex(32)
    message = Message(sender_id, message_id, channel, lamport, entries, content=text.encode())
    return message_id, _CODEC.encode(message)


def presence(key: Identity, channel: str, nick: str, role: str = "") -> bytes:
    """Return a presence of this key, dated now."""
    return seal_presence(
        key,
        channel,
        PresenceKind.HERE,
        nick=nick,
        role=role,
        sent_time=now(),
        connection=now(),
        chance=secrets.token_bytes(CHANCE_BYTES),
    )


class Attacker:
    """A connection to a broker on loopback."""

    def __init__(self, port: int, channel: str) -> None:
        self.topics = Topics(channel)
        self.channel = channel
        self.sent = 0
        self.heard: dict[str, bytes] = {}  # the last payload of each topic that is not empty
        self.said: dict[str, bytes] = {}  # packets of the channel with content, by message id, once it listens
        self._subscribed = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.max_queued_messages_set(0)
        self._client.on_message = self._on_message
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.connect(LOOPBACK, port)
        self._client.subscribe(self.topics.who_all, qos=1)
        self._client.loop_start()
        if not self._subscribed.wait(_PATIENCE):
            raise TimeoutError("the broker does not answer")

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        if message.topic == self.topics.msg:
            self._hear(bytes(message.payload))
        elif message.payload:
            self.heard[message.topic] = bytes(message.payload)

    def listen(self) -> None:
        """Keep what is said from now on: the first packet of each message id, and `_KEPT` of them at most."""
        self._subscribed.clear()
        self._client.subscribe(self.topics.msg, qos=1)
        if not self._subscribed.wait(_PATIENCE):
            raise TimeoutError("the broker does not answer")

    def _hear(self, packet: bytes) -> None:
        message = _CODEC.decode(packet)
        if isinstance(message, Message) and message.content and len(self.said) < _KEPT:
            self.said.setdefault(message.message_id, packet)

    def publish(self, topic: str, payload: bytes, *, qos: int = 0, retain: bool = False) -> None:
        if self.sent >= MOST:
            raise RuntimeError(f"an attack sends at most {MOST} packets")
        self.sent += 1
        self._client.publish(topic, payload, qos=qos, retain=retain)

    def say(self, packet: bytes) -> None:
        self.publish(self.topics.msg, packet)

    def flush(self) -> None:
        """Wait until the broker has taken everything."""
        self._client.publish(self.topics.who("flush"), b"", qos=1).wait_for_publish(_PATIENCE)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
