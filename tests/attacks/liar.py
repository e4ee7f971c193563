"""A broker that lies. Each member has a broker of its own, and nothing passes from one to another but what the liar
passes on: late, twice, altered, in another channel, under another name, or not at all."""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from sdschat.sds.values import HistoryEntry, Message
from sdschat.wire.sds_codec import SdsCodec
from tests.attacks.attacker import LOOPBACK, MOST

_CODEC = SdsCodec(1 << 24)
_DROPPED, _LATE, _TWICE, _ALTERED, _SWAPPED = 0.2, 0.3, 0.2, 0.25, 0.1  # chances
_LATEST = 1.5  # seconds
_KEPT = 512  # packets that may be sent again

_TOP = "sds/1/"

Withhold = Callable[[str, str, bytes], bool]  # what this author says, from this member, with this payload


class _Due(NamedTuple):
    at: float
    number: int
    member: str
    rest: str  # of the topic
    payload: bytes
    retain: bool


class LyingBroker:
    """Passes packets between the members of two channels. `withhold`: what a member must never get."""

    def __init__(self, ports: dict[str, int], members: dict[str, str], seed: int, withhold: Withhold) -> None:
        """`ports`: of the broker of each member. `members`: the level of topics that stands for the channel of each."""
        self._members = members
        self._withhold = withhold
        self._random = random.Random(seed)
        self._due: list[_Due] = []
        self._numbers = itertools.count()
        self._lock = threading.Condition()
        self._old: list[tuple[str, bytes]] = []  # rest of a topic and payload, to be sent again
        self.lies = 0
        self.withheld = 0
        self.honest = False
        self._ended = False
        self._own: set[tuple[str, str, bytes]] = set()  # what we sent ourselves and hear again
        self._clients = {member: self._connect(member, port) for member, port in ports.items()}
        self._thread = threading.Thread(target=self._send_due, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with self._lock:
            self._ended = True
            self._lock.notify()
        self._thread.join()
        for client in self._clients.values():
            client.disconnect()
            client.loop_stop()

    # Hearing.

    def _connect(self, member: str, port: int) -> paho.Client:
        client = paho.Client(CallbackAPIVersion.VERSION2, userdata=member)
        client.max_queued_messages_set(0)
        client.on_message = self._on_message
        subscribed = threading.Event()
        client.on_subscribe = lambda *_: subscribed.set()
        client.connect(LOOPBACK, port)
        client.subscribe(f"{_TOP}#", qos=1)
        client.loop_start()
        if not subscribed.wait(30):
            raise TimeoutError("the broker does not answer")
        return client

    def _on_message(self, _client: Any, author: str, message: paho.MQTTMessage) -> None:
        rest, payload = message.topic.removeprefix(_TOP), bytes(message.payload)
        with self._lock:
            if (author, rest, payload) in self._own:
                self._own.discard((author, rest, payload))
                return
            if "!echo" not in rest:
                self._pass_on(author, rest, payload, "/who/" in f"/{rest}")

    def _pass_on(self, author: str, rest: str, payload: bytes, retain: bool) -> None:
        for member, channel in self._members.items():
            if member == author:
                continue
            if self._withhold(author, member, payload):
                self.withheld += 1
                continue
            if rest.startswith(f"{channel}/"):
                self._tell(member, rest, payload, retain)
            elif not self.honest and self._chance(_SWAPPED):
                self.lies += 1
                self._send(member, f"{channel}/{rest.partition('/')[2]}", payload, retain)

    def _tell(self, member: str, rest: str, payload: bytes, retain: bool) -> None:
        if self.honest:
            self._send(member, rest, payload, retain)
            return
        for false in self._lies_about(rest, payload):
            self.lies += 1
            self._send(member, rest, false, retain)
        if self._chance(_DROPPED):
            self.lies += 1
            return
        self._send(member, rest, payload, retain, self._random.random() * _LATEST if self._chance(_LATE) else 0.0)
        if self._chance(_TWICE):
            self.lies += 1
            self._send(member, rest, payload, retain, self._random.random() * _LATEST)
        self._old = [*self._old[-_KEPT:], (rest, payload)]
        if self._chance(_TWICE):
            again, old = self._random.choice(self._old)
            if again.partition("/")[0] == rest.partition("/")[0]:
                self.lies += 1
                self._send(member, again, old, "/who/" in f"/{again}")

    def _lies_about(self, rest: str, payload: bytes) -> Iterator[bytes]:
        """Yield altered forms of a packet, which are sent before the packet itself."""
        if not payload or not self._chance(_ALTERED):
            return
        at = self._random.randrange(len(payload))
        yield payload[:at] + bytes([payload[at] ^ 1 << self._random.randrange(8)]) + payload[at + 1 :]
        yield payload[: self._random.randrange(len(payload))]
        if rest.endswith("/msg"):
            yield from altered_messages(payload, self._random)
        elif "/who/" in rest:
            yield b""  # shown as gone

    def _chance(self, chance: float) -> bool:
        return self._random.random() < chance

    # Sending.

    def _send(self, member: str, rest: str, payload: bytes, retain: bool, later: float = 0.0) -> None:
        due = _Due(time.monotonic() + later, next(self._numbers), member, rest, payload, retain)
        if due.number >= MOST:
            raise RuntimeError(f"an attack sends at most {MOST} packets")
        heapq.heappush(self._due, due)
        self._lock.notify()

    def _send_due(self) -> None:
        while True:
            with self._lock:
                while not self._ended and (not self._due or self._due[0].at > time.monotonic()):
                    self._lock.wait(max(0.0, self._due[0].at - time.monotonic()) if self._due else None)
                if self._ended:
                    return
                due = heapq.heappop(self._due)
                self._own.add((due.member, due.rest, due.payload))
            with suppress(ValueError):
                self._clients[due.member].publish(f"{_TOP}{due.rest}", due.payload, qos=1, retain=due.retain)


def altered_messages(packet: bytes, chance: random.Random) -> Iterator[bytes]:
    """Yield a message at other places in the log, in another's name, and with the fields of its packet exchanged."""
    message = _CODEC.decode(packet)
    if not isinstance(message, Message) or message.lamport_timestamp is None:
        return
    lamport = message.lamport_timestamp
    yield _CODEC.encode(replace(message, lamport_timestamp=lamport + chance.randrange(1, 5000)))
    yield _CODEC.encode(replace(message, lamport_timestamp=max(1, lamport - chance.randrange(1, 5000))))
    yield _CODEC.encode(replace(message, causal_history=message.causal_history[::-1][:1]))
    yield _CODEC.encode(replace(message, causal_history=(HistoryEntry("f" * 64, None, message.sender_id),)))
    yield _CODEC.encode(replace(message, bloom_filter=None))
    yield _CODEC.encode(replace(message, bloom_filter=b"\xff" * 600))
    yield _CODEC.encode(replace(message, sender_id="0" * 32))
    yield _CODEC.encode(replace(message, message_id="e" * 64))
