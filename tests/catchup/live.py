"""Common base of the measurements of catching up: profiles made beforehand, real `pipe`s, and a count of every byte."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import IO

from sdschat.catchup.values import Frame, RefusedFrame
from sdschat.mvds.values import Refusal
from sdschat.node.clock import Clock
from sdschat.node.node import Node
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import make_settings
from sdschat.store.reader import Reader
from sdschat.transport.base import Connected, Event, Received, place
from sdschat.transport.client import MqttTransport
from sdschat.transport.memory import MemoryNetwork
from sdschat.transport.mqtt_options import MqttOptions
from sdschat.wire.catchup_codec import SyncCodec
from sdschat.wire.sds_codec import SdsCodec
from tests.cli.processes import command, environment
from tests.node.worlds import InMemory

CHANNEL = "lobby"
CODEC = SdsCodec()
SYNC = SyncCodec()
WEEK = 7 * 24 * 3600 * 1000


def profile_path(home: Path, name: str) -> Path:
    return database_path(home / "data" / "sdschat", name)


async def write_alone(home: Path, name: str, texts: list[str], ago: int) -> None:
    """A participant that writes these, so long ago, with nobody to hear it."""
    settings = make_settings({})
    clock = Clock()
    clock.skew = -ago
    network = InMemory(MemoryNetwork(asyncio.get_running_loop().call_soon), settings)
    node = Node(open_profile(profile_path(home, name), settings), name, settings, network, clock)
    node.join(CHANNEL)
    for at, text in enumerate(texts):
        node.send(CHANNEL, text)
        if at % 200 == 0:
            await asyncio.sleep(0)
    await asyncio.sleep(0.1)
    await node.close(0.1)


class Tap:
    """Counts what goes over the broker, by what topics are for."""

    def __init__(self, options: MqttOptions) -> None:
        self.bytes: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()  # bytes, by what is in the packets
        self.packets: Counter[str] = Counter()
        self.ready = asyncio.Event()
        self.transport = MqttTransport(options)
        self.transport.listen(self._hear)
        self.transport.subscribe("sds/1/#")
        self.transport.start()

    def _hear(self, event: Event) -> None:
        if isinstance(event, Connected):
            self.ready.set()
        elif isinstance(event, Received):
            found = place(event.topic)
            what = "other" if found is None else found.what
            self.bytes[what] += len(event.payload)
            self.packets[what] += 1
            self.kinds[_kind(event.payload) if what == "sync" else what] += len(event.payload)

    def total(self) -> int:
        return sum(self.bytes.values())


def _kind(packet: bytes) -> str:
    """Return the kind of a packet on sync."""
    found = SYNC.decode(packet)
    if isinstance(found, Frame):
        return type(found.what).__name__.lower()
    if isinstance(found, RefusedFrame) or isinstance(found.payload, Refusal):
        return "unreadable"
    return "pages" if found.payload.messages else "offers, requests, acknowledgements"


def processor_time(process: subprocess.Popen[bytes]) -> float:
    """Seconds so far; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(
    home: Path, name: str, *more: str, out: int | IO[bytes] = subprocess.DEVNULL, into: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    arguments = command("pipe", CHANNEL, "--name", name, "--linger", "forever", *more)
    return subprocess.Popen(
        arguments,
        cwd=home,
        env=environment(home),
        stdin=into,
        stdout=out,
        stderr=subprocess.DEVNULL,
    )


def stop(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        process.terminate()
        process.wait(30)


def standing(home: Path, name: str) -> tuple[int, str]:
    """Return the number of messages in the log, and their fingerprint."""
    with Reader.open(profile_path(home, name), CODEC) as reader:
        for channel in reader.channels():
            if channel.channel == CHANNEL:
                return channel.messages, channel.fingerprint
    return 0, ""


async def until_equal(home: Path, one: str, other: str, messages: int, patience: float = 600.0) -> float:
    """Seconds until both logs have so many messages, and the same."""
    began = time.monotonic()
    while time.monotonic() - began < patience:
        first = standing(home, one)
        if first[0] >= messages and first == standing(home, other):
            return time.monotonic() - began
        await asyncio.sleep(0.1)
    raise SystemExit(f"after {patience} s: {standing(home, one)[0]} and {standing(home, other)[0]} of {messages}")


def packet_bytes(home: Path, name: str, since: int = 0) -> int:
    """Return the total bytes of all packets in the log that are dated from `since` on."""
    with Reader.open(profile_path(home, name), CODEC) as reader:
        return sum(len(one.raw or b"") for one in reader.messages(CHANNEL, since=since, with_raw=True))
