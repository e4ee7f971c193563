"""Everything that MQTT 5 allows and a chat does not use: `python -m tests.attacks.odd_packets [--size 400]`."""

from __future__ import annotations

import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from sdschat.identity.keyfile import load_or_create
from tests.attacks.attacker import LOOPBACK, new_key, now, signed_packet, unsigned_packet
from tests.attacks.stage import CHANNEL, PATIENCE, Stage, has_text, main, seconds_until
from tests.cli.processes import Line
from tests.transport.worlds import free_port, listens

_BASE = f"sds/1/{CHANNEL}"
_LATEST = 10.0
_LINES = 40  # told of all that, by each
_BIG = 2 << 20
_USUAL = frozenset(
    ["joined", "connection", "presence", "delivered", "state", "published", "catching_up", "sync_sent", "sync_received"]
)
_ODD = ("\uffff", "\x01", "\u202e", "%2B", "%23", "%00", "%2F", "%E2", "%e2%98%ba", "a b", "\U0010ffff", "x" * 60_000)


def odd_packets(stage: Stage, size: int) -> bool:
    """Retained packets on every topic of a channel, with properties, aliases and expiry, twice with QoS 2, empty, too
    large, on topics with odd names, and as last wills in the place of somebody's presence.

    Defended if honest lines are shown at once, nobody is shown as gone, or loses the connection, and a newcomer has it
    all.
    """
    port = free_port()
    broker = _mosquitto(stage, port)
    try:
        stage.port = port
        ann, bob = stage.pipe("ann"), stage.pipe("bob")
        ann.say("before")
        seconds_until(bob, has_text(bob, "before"))
        victims = [load_or_create(stage.database(name).parent).sender_id for name in ("ann", "bob")]
        sent = 0
        for topics in (_usual(victims), *([odd] for odd in _odd_topics(victims[0]))):
            client = _client(port)  # a broker may hang up at a topic
            packets = list(_packets(topics, size if len(topics) > 1 else 10))
            for topic, payload in packets:
                client.publish(topic, payload, qos=sent % 3, retain=bool(sent % 2), properties=_properties(sent))
                sent += 1
            with suppress(RuntimeError):
                client.publish("other/flush", b"", qos=1).wait_for_publish(PATIENCE if len(topics) > 1 else 0.2)
            client.disconnect()
            client.loop_stop()
        for victim in victims:
            _die(port, f"{_BASE}/who/{victim}")
        delays = []
        for text in ("one", "two"):
            ann.say(text)
            delays.append(seconds_until(bob, has_text(bob, text)))
        newcomer = stage.pipe("dan")
        delays += [seconds_until(newcomer, has_text(newcomer, text), 60) for text in ("before", "two")]
        bob.say("three")
        delays.append(seconds_until(newcomer, has_text(newcomer, "three")))
        time.sleep(1)
        heard = {name: list(pipe.lines) for name, pipe in (("ann", ann), ("bob", bob), ("dan", newcomer))}
    finally:
        broker.terminate()
        broker.wait(10)
    lost = [name for name, lines in heard.items() if any(one.get("state") == "disconnected" for one in lines)]
    gone = sum(_is_gone(one, victims) for lines in heard.values() for one in lines)
    odd = {name: sum(one["event"] not in _USUAL for one in lines) for name, lines in heard.items()}
    stage.saw("packets", sent)
    stage.saw("seconds until honest lines are shown", [f"{one:.1f}" for one in delays])
    stage.saw("who lost the connection before the broker ended", lost)
    stage.saw("times that a talker is shown as gone", gone)
    stage.saw("other lines of each", odd)
    return max(delays) < _LATEST and not lost and not gone and max(odd.values()) < _LINES


def _is_gone(line: Line, victims: list[str]) -> bool:
    return line["event"] == "presence" and not line["online"] and line["sender_id"] in victims


def _mosquitto(stage: Stage, port: int) -> subprocess.Popen[bytes]:
    conf = stage.home / "mosquitto.conf"
    conf.write_text(f"listener {port} {LOOPBACK}\nallow_anonymous true\nmax_topic_alias 100\n")
    quiet = subprocess.DEVNULL
    started = subprocess.Popen(["mosquitto", "-c", str(conf)], stdout=quiet, stderr=quiet)
    until = time.monotonic() + 15
    while not listens(LOOPBACK, port) and time.monotonic() < until:
        time.sleep(0.05)
    return started


def _client(port: int, will: str = "") -> paho.Client:
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
    client.max_queued_messages_set(0)
    if will:
        client.will_set(will, b"", qos=2, retain=True)
    client.connect(LOOPBACK, port)
    client.loop_start()
    return client


def _die(port: int, topic: str) -> None:
    """End a connection so that its last will empties somebody's presence."""
    client = _client(port, topic)
    time.sleep(0.3)
    sock = client.socket()
    client.loop_stop()
    if sock is not None:
        sock.close()


def _properties(number: int) -> Properties:
    made = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    made.UserProperty = [("key", "x" * 1000)] * (number % 20 + 1)
    made.ResponseTopic = f"{_BASE}/msg"
    made.CorrelationData = secrets.token_bytes(200)
    made.ContentType = "text/\uffff" if number % 4 else "text/html"
    made.MessageExpiryInterval = number % 4 + 1
    made.PayloadFormatIndicator = number % 2
    return made


def _usual(victims: list[str]) -> list[str]:
    """Return the topics of a channel."""
    topics = [f"{_BASE}/msg", f"{_BASE}/timber", _BASE, f"{_BASE}/", f"{_BASE}//", f"{_BASE}/store/query/{victims[1]}"]
    for victim in victims:
        topics += [f"{_BASE}/who/{victim}", f"{_BASE}/store/answer/{victim}", f"sds/1/!echo/{victim}"]
        topics += [f"{_BASE}/sync/{victim}/{victims[0]}", f"{_BASE}/timber/{victim}/{victims[1]}"]
    return topics


def _odd_topics(victim: str) -> list[str]:
    bases = (f"{_BASE}/who", f"{_BASE}/sync/{victim}", "sds/1")
    return [f"{base}/{odd}" for odd in _ODD for base in bases]


def _packets(topics: list[str], size: int) -> Iterator[tuple[str, bytes]]:
    said = signed_packet(new_key(), CHANNEL, "odd", "said by a stranger", now())
    unsigned = unsigned_packet("nobody", CHANNEL, "unsigned", now())[1]
    payloads = (b"", b"\x00", said, said, unsigned, b"\xff" * 70_000, secrets.token_bytes(300), bytes(_BIG))
    for number in range(size):
        yield topics[number % len(topics)], payloads[number // len(topics) % len(payloads)]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main(odd_packets, 400, "packets")
