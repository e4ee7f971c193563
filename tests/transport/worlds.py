"""Helpers of the transport tests: real brokers, and a handler that records events."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from sdschat.transport.address import parse_url
from sdschat.transport.base import Connected, Event
from sdschat.transport.broker import BrokerConfig, EmbeddedBroker
from sdschat.transport.client import MqttTransport
from sdschat.transport.mqtt_options import MqttOptions
from tests.needs import needs_module, needs_program

T = TypeVar("T")
PATIENCE = 10.0


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listens(host: str, port: int) -> bool:
    """True if something accepts connections at this address."""
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


class Recorder:
    """A handler that records every event, and lets a test wait for one, counted from the first event on."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, kind: type[T], count: int = 1, *, where: Callable[[T], bool] = lambda _: True) -> T:
        """Wait for and return the `count`-th event of this kind."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = [event for event in self.of(kind) if where(event)]
                if len(found) >= count:
                    return found[count - 1]
                self._changed.clear()
                await self._changed.wait()


def quick(url: str, **changes: object) -> MqttOptions:
    """Return options with short times for a test: tenths of a second instead of seconds."""
    address, password = parse_url(url)
    values: dict[str, object] = {
        "address": address,
        "password": password,
        "tick": 0.05,
        "backoff_first": 0.1,
        "backoff_longest": 0.3,
        "connect_timeout": 5.0,
    }
    return MqttOptions(**(values | changes))  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def client(options: MqttOptions, *filters: str) -> AsyncIterator[tuple[MqttTransport, Recorder]]:
    """Start a transport; return it with its recorded events."""
    transport, facts = MqttTransport(options), Recorder()
    transport.listen(facts)
    for topic_filter in filters:
        transport.subscribe(topic_filter)
    transport.start()
    try:
        yield transport, facts
    finally:
        await transport.close()


@contextlib.asynccontextmanager
async def connected(options: MqttOptions, *filters: str) -> AsyncIterator[tuple[MqttTransport, Recorder]]:
    async with client(options, *filters) as (transport, facts):
        await facts.until(Connected)
        yield transport, facts


@contextlib.asynccontextmanager
async def embedded(config: BrokerConfig | None = None) -> AsyncIterator[EmbeddedBroker]:
    needs_module("iotcore")
    broker = EmbeddedBroker(config or BrokerConfig(port=free_port()))
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


class Mosquitto:
    """A mosquitto process that can be stopped, started again on its port, and frozen."""

    def __init__(self, directory: Path, settings: str = "allow_anonymous true", port: int | None = None) -> None:
        self.port = port or free_port()
        self._program = needs_program("mosquitto")
        self._file = directory / f"mosquitto-{self.port}.conf"
        # A mosquitto started by root gives up root's rights by default, and then could not read its certificates.
        log = "log_dest stderr\nlog_type information"
        self._file.write_text(f"user root\n{log}\nlistener {self.port} 127.0.0.1\n{settings}\n")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start the process, and return once it accepts connections: it then prints that it is running."""
        self.process = subprocess.Popen([self._program, "-c", str(self._file)], stderr=subprocess.PIPE)
        assert self.process.stderr is not None
        said = b""
        async with asyncio.timeout(PATIENCE):
            while line := await asyncio.to_thread(self.process.stderr.readline):
                said += line
                if b" running" in line:
                    return
        raise RuntimeError(f"mosquitto did not start: {said.decode(errors='replace')}")

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    async def __aenter__(self) -> Mosquitto:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()


def run(scenario: Callable[[], object]) -> None:
    """Run an async scenario on a loop of its own, with a bound on its time."""

    async def bounded() -> None:
        async with asyncio.timeout(3 * PATIENCE):
            await scenario()  # type: ignore[misc]

    asyncio.run(bounded())


def beside_mosquitto(home: Path, story: Callable[[Path, str], None]) -> None:
    """Run a story of programs, with the address of a broker."""

    async def scenario() -> None:
        async with Mosquitto(home) as broker:
            await asyncio.to_thread(story, home, broker.url)

    asyncio.run(scenario())
