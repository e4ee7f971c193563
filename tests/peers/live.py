"""A participant of `@waku/sds` in a channel of a real broker.

The package has no MQTT transport. It runs in a process of its own (`node/live_peer.mjs`), and this module carries its
packets to the broker and back, unchanged. A test may hold packets back on the way, or lose them.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

from sdschat.transport.base import Connected, Event, Received, Topics
from sdschat.transport.client import MqttTransport
from sdschat.transport.mqtt_options import MqttOptions
from tests.needs import needs_path, needs_program
from tests.peers.node_peer import FOLDER

PATIENCE: Final = 15.0
Line = dict[str, Any]
_LONGEST_LINE: Final = 1024 * 1024  # a packet with a filter of `@waku/sds` has 25 KB in base 64
_T_MIN, _T_MAX = 20, 200  # milliseconds; the package's defaults are 30 and 120 seconds


class LivePeer:
    """The participant: its events, the packets it sent and received, and its commands."""

    def __init__(self, process: Process, transport: MqttTransport, topic: str, *, deaf: bool) -> None:
        self.events: list[Line] = []
        self.said: list[bytes] = []
        self.given: list[bytes] = []
        self._process = process
        self._transport = transport
        self._topic = topic
        self._held_said: list[bytes] | None = None
        self._held_given: list[bytes] | None = [] if deaf else None
        self._connected = self._ended = False
        self._changed = asyncio.Event()
        transport.listen(self._heard)
        transport.subscribe(topic)

    def _heard(self, event: Event) -> None:
        match event:
            case Connected():
                self._connected = True
                self._changed.set()
            case Received(_, payload, _):
                if self._held_given is None:
                    self.give(payload)
                else:
                    self._held_given.append(payload)
                    self._changed.set()

    async def read(self) -> None:
        """Read the output of the process to its end."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            told = json.loads(line)
            if told["event"] == "packet":
                self._say(base64.b64decode(told["data"]))
            else:
                self.events.append(told)
            self._changed.set()
        self._ended = True
        self._changed.set()

    def _say(self, packet: bytes) -> None:
        if self._held_said is None:
            self.publish(packet)
        else:
            self._held_said.append(packet)

    def publish(self, packet: bytes) -> None:
        """Hand a packet of this participant to the broker."""
        self.said.append(packet)
        self._transport.publish(self._topic, packet)

    def give(self, packet: bytes) -> None:
        """Hand a packet from the broker to this participant."""
        self.given.append(packet)
        self.command(f"packet {base64.b64encode(packet).decode()}")
        self._changed.set()

    def command(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())

    @contextlib.contextmanager
    def holding_said(self) -> Iterator[list[bytes]]:
        """Keep the packets that it sends during the block in this list, instead of publishing them."""
        held: list[bytes] = []
        self._held_said = held
        yield held
        self._held_said = None

    @contextlib.contextmanager
    def holding_given(self) -> Iterator[list[bytes]]:
        """Keep the packets of the broker during the block in this list, instead of handing them to it."""
        held: list[bytes] = []
        self._held_given = held
        yield held
        self._held_given = None

    async def until_true(self, condition: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():
                    assert not self._ended, f"the peer ended before: {what}"
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"never: {what}; the peer's events: {self.events}") from None

    async def until(self, event: str, **fields: object) -> Line:
        """Wait for the first event of this name with these fields, and return it."""
        wanted = {"event": event, **fields}
        await self.until_true(lambda: any(wanted.items() <= line.items() for line in self.events), str(wanted))
        return next(line for line in self.events if wanted.items() <= line.items())

    async def send(self, text: str) -> str:
        """Let it send a message, and return its id."""
        before = len(self.of("sent"))
        self.command(f"send {text}")
        await self.until_true(lambda: len(self.of("sent")) > before, f"{text} sent")
        sent: str = self.of("sent")[before]["id"]
        return sent

    async def connected(self) -> None:
        await self.until("ready")
        await self.until_true(lambda: self._connected, "connected")

    def of(self, event: str) -> list[Line]:
        return [line for line in self.events if line["event"] == event]

    def delivered(self) -> list[str]:
        return [line["id"] for line in self.of("delivered")]


@contextlib.asynccontextmanager
async def live_peer(options: MqttOptions, channel: str, name: str, *, deaf: bool = False) -> AsyncIterator[LivePeer]:
    """Start a participant, connected, with repair timers of 20 and 200 ms. At the end, stop its process.

    `deaf`: it receives nothing until the end of a block of `holding_given`.
    """
    node = needs_program("node")
    needs_path(FOLDER / "node_modules" / "@waku" / "sds", "npm ci --prefix tests/peers/node")
    process = await asyncio.create_subprocess_exec(
        node,
        str(FOLDER / "live_peer.mjs"),
        channel,
        name,
        str(_T_MIN),
        str(_T_MAX),
        stdin=PIPE,
        stdout=PIPE,
        limit=_LONGEST_LINE,
    )
    transport = MqttTransport(options)
    peer = LivePeer(process, transport, Topics(channel).msg, deaf=deaf)
    reading = asyncio.create_task(peer.read())
    transport.start()
    try:
        await peer.connected()
        yield peer
    finally:
        await transport.close()
        assert process.stdin is not None
        process.stdin.close()
        await _end(process)
        await reading


async def _end(process: Process) -> None:
    """Wait for the process, which ends with its input; kill it if it does not."""
    try:
        await asyncio.wait_for(process.wait(), PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()
