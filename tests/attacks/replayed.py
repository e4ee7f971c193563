"""Packets that anybody heard, sent again: `python -m tests.attacks.replayed [--private] [--size 5000]`."""

from __future__ import annotations

import random
import sys
import threading
import time
from contextlib import closing
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.attacks.attacker import LOOPBACK, MOST
from tests.attacks.flood import memory_of
from tests.attacks.stage import CHANNEL, Stage, has_text, main, seconds_until
from tests.cli.processes import Pipe

_LINES = 10  # of each member, that are heard
_HEARD = 1000
_AT_ONCE = 100
_LATEST = 20.0  # seconds until an honest message is shown
_GROWTH = 50  # MB of memory
_ROWS = 600  # of the journal


class Listener:
    """A client that keeps what it hears, and sends it again: altered, cut, longer, under other topics, retained."""

    def __init__(self, port: int, seed: int, most: int = _HEARD) -> None:
        self._random = random.Random(seed)
        self._most = most
        self.heard: list[tuple[str, bytes]] = []
        subscribed = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2)
        self._client.max_queued_messages_set(0)
        self._client.on_subscribe = lambda *_: subscribed.set()
        self._client.on_message = self._on_message
        self._client.connect(LOOPBACK, port)
        self._client.subscribe("#", qos=1)
        self._client.loop_start()
        if not subscribed.wait(30):
            raise TimeoutError("the broker does not answer")

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        if message.payload and len(self.heard) < self._most:
            self.heard.append((message.topic, bytes(message.payload)))

    def publish(self, topic: str, payload: bytes) -> None:
        self._client.publish(topic, payload, qos=0)

    def flush(self) -> None:
        """Wait until the broker has taken everything."""
        self._client.publish("other/flush", b"", qos=1).wait_for_publish(30)

    def repeat(self, times: int) -> None:
        packets = list(self.heard)
        topics = [topic for topic, _ in packets]
        for number in range(min(times, MOST)):
            topic, payload = self._changed(*self._random.choice(packets), topics)
            self._client.publish(topic, payload, qos=0, retain="/who/" in topic and self._random.random() < 0.5)
            if number % _AT_ONCE == _AT_ONCE - 1:
                self.flush()

    def _changed(self, topic: str, payload: bytes, topics: list[str]) -> tuple[str, bytes]:
        at = self._random.randrange(len(payload))
        match self._random.randrange(6):
            case 0:
                return self._random.choice(topics), payload
            case 1:
                return topic, payload[:at] + bytes([payload[at] ^ 1 << self._random.randrange(8)]) + payload[at + 1 :]
            case 2:
                top, _, last = topic.rpartition("/")
                return f"{top}/{self._random.randbytes(len(last)).hex()[: len(last)]}", payload
            case 3:
                return topic, payload[:at]
            case 4:
                return topic, payload + self._random.randbytes(20)
        return topic, payload

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def replayed(stage: Stage, size: int) -> bool:
    """Packets of all kinds, sent again as they were, altered, cut, longer, and under other topics.

    Defended if all members and a newcomer have one log of what was said, an honest message comes through, and memory
    and journal stay within bounds.
    """
    return _attack(stage, size, CHANNEL)


def replayed_private(stage: Stage, size: int) -> bool:
    """Packets of a private channel, sent again by somebody who has no link: as they were, altered, and moved.

    Defended as in an open channel.
    """
    return _attack(stage, size, stage.private(CHANNEL, "ann"))


def _attack(stage: Stage, size: int, link: str) -> bool:
    with closing(Listener(stage.port, size)) as listener:
        pipes = {"ann": stage.pipe("ann"), "bob": stage.pipe("bob", channel=link)}
        for number in range(_LINES):
            for name, pipe in pipes.items():
                pipe.say(f"{name} {number}")
                time.sleep(0.05)
        _wait(stage, pipes, "carol", link, f"ann {_LINES - 1}")  # she catches up, so that there is more to hear
        before = memory_of(pipes["bob"].process.pid)
        listener.repeat(size)
        pipes["ann"].say("after")
        delay = seconds_until(pipes["bob"], has_text(pipes["bob"], "after"))
        _wait(stage, pipes, "dora", link, "after")
    said = {f"{name} {number}" for name in ("ann", "bob") for number in range(_LINES)} | {"after"}
    wrong = [name for name, pipe in pipes.items() if not _shows(pipe, said)]
    grown = memory_of(pipes["bob"].process.pid) - before
    rows = stage.count("bob", "SELECT count(*) FROM journal")
    stage.saw("packets heard", len(listener.heard))
    stage.saw("members who do not show what was said, once each", wrong)
    stage.saw("seconds until an honest message is shown", f"{delay:.1f}")
    stage.saw("memory that was added, MB", f"{grown:.0f}")
    stage.saw("rows in the journal", rows)
    return not wrong and delay < _LATEST and grown < _GROWTH and rows < _ROWS


def _wait(stage: Stage, pipes: dict[str, Pipe], name: str, link: str, text: str) -> None:
    pipe = pipes[name] = stage.pipe(name, channel=link)
    seconds_until(pipe, has_text(pipe, text))


def _shows(pipe: Pipe, said: set[str]) -> bool:
    """True if the member shows these texts, each once, and nothing else."""
    seconds_until(pipe, lambda _: set(_spoken(pipe)) >= said, _LATEST)
    return sorted(_spoken(pipe)) == sorted(said)


def _spoken(pipe: Pipe) -> list[str]:
    """Return the texts of people: operations of private channels are messages of the log, too."""
    found = [line["message"] for line in list(pipe.lines) if line["event"] == "delivered"]
    return [message["text"] for message in found if not message.get("operation")]


if __name__ == "__main__":
    private = "--private" in sys.argv[1:]
    if private:
        sys.argv.remove("--private")
    main(replayed_private if private else replayed, 5_000, "packets sent again")
