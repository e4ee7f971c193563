"""Measure messages per second from one `sdschat pipe` to another: saved on both sides, signatures verified.

    python -m tests.node.bench [--messages 10000] [--broker mqtt://…]

Without --broker it is measured through the embedded one, and through Mosquitto where that is installed. Printed beside
it is what the broker alone passes on, packets of that size from one bare MQTT client to another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from sdschat.transport.address import parse_url
from sdschat.transport.base import Connected, Event, Published, Received
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.client import MqttTransport
from sdschat.transport.embedded import EmbeddedHosting
from sdschat.transport.mqtt_options import MqttOptions
from tests.cli.processes import command, environment
from tests.transport.worlds import Mosquitto, free_port

_UNDER_WAY = 500


def start(home: Path, name: str, *more: str) -> subprocess.Popen[bytes]:
    arguments = command("pipe", "bench", "--name", name, *more)
    return subprocess.Popen(arguments, cwd=home, env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def await_event(process: subprocess.Popen[bytes], wanted: bytes) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if wanted in line:
            return
    raise SystemExit("a pipe ended before it was connected")


class Figures(NamedTuple):
    rate: float  # messages a second, from the first line written to the last one delivered
    size: int  # bytes of a packet
    effort: list[float]  # microseconds of processor time a message, of sender and receiver


def _processor_time(process: subprocess.Popen[bytes]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(messages: int, options: list[str]) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        receiver = start(home, "receiver", "--linger", "forever", *options)
        await_event(receiver, b'"state":"connected"')
        sender = start(home, "sender", *options)
        await_event(sender, b'"event":"presence"')
        put, said = sender.stdin, sender.stdout
        assert put is not None
        assert said is not None
        lines = b"".join(b"message number %06d of the benchmark\n" % number for number in range(messages))
        drain = threading.Thread(target=said.read, daemon=True)
        drain.start()
        both = (sender, receiver)
        before = [_processor_time(process) for process in both]
        began = time.monotonic()
        writer = threading.Thread(target=lambda: (put.write(lines), put.flush()), daemon=True)
        writer.start()
        rate = messages / (_await_all(receiver, messages) - began)
        writer.join()
        effort = [
            (_processor_time(process) - start) / messages * 1e6 for process, start in zip(both, before, strict=True)
        ]
        for process in both:
            process.terminate()
            process.wait(30)
        journal = subprocess.run(
            command("log", "bench", "--journal", "--name", "receiver"),
            cwd=home,
            env=environment(home),
            capture_output=True,
            check=True,
        ).stdout
        rows = [json.loads(line) for line in journal.splitlines()]
        sizes = [row["bytes"] for row in rows if row["event"] == "delivered" and row["bytes"]]
        return Figures(rate, sum(sizes) // len(sizes), effort)


def _await_all(receiver: subprocess.Popen[bytes], messages: int) -> float:
    assert receiver.stdout is not None
    seen = 0
    for line in receiver.stdout:
        seen += line.startswith(b'{"event":"delivered"')
        if seen == messages:
            return time.monotonic()
    raise SystemExit(f"only {seen} of {messages} arrived")


class Counter:
    """A bare client that counts what it hears and what was taken over."""

    def __init__(self, options: MqttOptions, wanted: int) -> None:
        self.transport = MqttTransport(options)
        self.ready, self.done = asyncio.Event(), asyncio.Event()
        self.room = asyncio.Semaphore(_UNDER_WAY)
        self._left = wanted
        self.transport.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Connected):
            self.ready.set()
        elif isinstance(event, Published):
            self.room.release()
        elif isinstance(event, Received):
            self._left -= 1
            if not self._left:
                self.done.set()


async def broker_rate(messages: int, size: int, url: str, embedded: bool) -> float:
    """Return the messages per second that the broker alone passes from one bare client to another."""
    options = MqttOptions(parse_url(url)[0])
    hosting = EmbeddedHosting(BrokerConfig(options.address.host, options.address.port)) if embedded else None
    if hosting is not None:
        options = hosting.options(options)
    receiver, sender = Counter(options, messages), Counter(options, messages)
    receiver.transport.subscribe("bench/packets")
    for client in (receiver, sender):
        client.transport.start()
        await client.ready.wait()
    began = time.monotonic()
    for number in range(messages):
        await sender.room.acquire()
        sender.transport.publish("bench/packets", bytes(size), tag=number)
    await receiver.done.wait()
    rate = messages / (time.monotonic() - began)
    for client in (receiver, sender):
        await client.transport.close()
    if hosting is not None:
        await hosting.close()
    return rate


def report(name: str, messages: int, url: str | None) -> None:
    """Measure through the broker at `url`, or through the embedded one."""
    port = free_port()
    options = ["--broker", url] if url else ["--set", f"embedded.port={port}"]
    options += ["--set", "trust.messages_per_minute=0"]
    rate, size, (sending, receiving) = measure(messages, options)
    print(f"{name}: {rate:,.0f} messages a second from pipe to pipe ({messages:,} messages, packets of {size} bytes)")
    print(f"{name}: processor time a message: sender {sending:.0f} µs, receiver {receiving:.0f} µs")
    alone = asyncio.run(broker_rate(messages, size, url or f"mqtt://127.0.0.1:{port}", embedded=not url))
    print(f"{name} alone: {alone:,.0f} packets a second of that size, between two clients of one process", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--broker", help="URL of a running broker")
    given = parser.parse_args()
    if given.broker:
        report(given.broker, given.messages, given.broker)
        return
    report("embedded broker", given.messages, None)
    with tempfile.TemporaryDirectory() as folder:
        try:
            mosquitto = Mosquitto(Path(folder))
        except (FileNotFoundError, pytest.skip.Exception):
            print("Mosquitto is not installed: not measured")
            return
        asyncio.run(mosquitto.start())
        try:
            report("Mosquitto", given.messages, mosquitto.url)
        finally:
            mosquitto.stop()


if __name__ == "__main__":
    main()
