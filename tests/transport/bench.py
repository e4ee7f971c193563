"""The speed of signatures and brokers here: `python -m tests.transport.bench [URL]`, by default all brokers."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import tempfile
import time
from pathlib import Path

from sdschat.identity.content import open_content
from sdschat.identity.key_book import KeyBook
from sdschat.identity.signing import Identity
from sdschat.transport.base import Connected, Published, Received
from sdschat.transport.client import MqttTransport
from tests.identity.signed import signed_message
from tests.transport.worlds import Mosquitto, Recorder, connected, embedded, quick

COUNT = 10_000
PAYLOAD = 600  # bytes, about the size of a signed message with a compact filter


def signatures() -> None:
    identity, book = Identity(bytes(32)), KeyBook()
    text = "a message of a usual length, as people write them"
    start = time.perf_counter()
    sealed = [signed_message(identity, "lobby", text, 1 + number).content or b"" for number in range(2000)]
    middle = time.perf_counter()
    for content in sealed:
        open_content(content, "lobby", identity.sender_id, hashlib.sha256(content).hexdigest(), book)
    end = time.perf_counter()
    print(f"seal {(middle - start) / 2000 * 1e6:.0f} µs, open and verify {(end - middle) / 2000 * 1e6:.0f} µs")


class Counter(Recorder):
    """A handler that counts events and does not keep them."""

    def __init__(self, kind: type[Published] | type[Received]) -> None:
        super().__init__()
        self._kind = kind
        self._left = COUNT
        self.done = asyncio.Event()

    def __call__(self, event: object) -> None:
        if isinstance(event, self._kind):
            self._left -= 1
            if not self._left:
                self.done.set()


async def broker(name: str, url: str) -> None:
    """Measure a broker: one client sends, another receives, both in this process and with QoS 1."""
    published, received = Counter(Published), Counter(Received)
    async with connected(quick(url), "bench/topic") as (bob, facts), connected(quick(url)) as (alice, _):
        assert isinstance(alice, MqttTransport)
        assert facts.of(Connected)
        bob.listen(received)
        alice.listen(published)
        start, worked = time.perf_counter(), time.process_time()
        for number in range(COUNT):
            alice.publish("bench/topic", bytes(PAYLOAD), tag=number)
        await asyncio.wait_for(asyncio.gather(received.done.wait(), published.done.wait()), 60)
        took, worked = time.perf_counter() - start, time.process_time() - worked
    print(f"{name}: {COUNT / took:.0f} messages/s of {PAYLOAD} bytes; {worked / COUNT * 1e6:.0f} µs of our time each")


async def main() -> None:
    signatures()
    if len(sys.argv) > 1:
        await broker(sys.argv[1], sys.argv[1])
        return
    async with embedded() as inside:
        await broker("embedded", f"mqtt://127.0.0.1:{inside.config.port}")
        status = Path(f"/proc/{inside.pid}/status")
        if status.exists():
            memory = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
            print(f"embedded broker's memory afterwards: {memory.split(':')[1].strip()}")
    with tempfile.TemporaryDirectory() as directory:
        async with Mosquitto(Path(directory)) as mosquitto:
            await broker("mosquitto", mosquitto.url)


if __name__ == "__main__":
    asyncio.run(main())
