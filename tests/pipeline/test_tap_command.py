"""`sdschat tap` at a real broker: recorded, killed, taken over, and read by the pipeline."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdschat.pipeline.schemas import FIELD, Packet
from sdschat.pipeline.sources.databases import PacketMemory, Reading
from sdschat.pipeline.sources.files import files, read_file
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.segments import SPOOL
from tests.cli.processes import command, environment
from tests.cli.processes import run as run_process
from tests.pipeline.worlds import with_filter
from tests.transport.worlds import connected, embedded, free_port, quick

PATIENCE = 60.0


@pytest.fixture
def taps(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Whatever still runs at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate()


def tap(home: Path, url: str) -> subprocess.Popen[bytes]:
    arguments = command("tap", "lobby", "--to", "tap", "--every", "1h", "--broker", url)
    return subprocess.Popen(arguments, cwd=home, env=environment(home), stderr=subprocess.PIPE)


async def line_with(process: subprocess.Popen[bytes], words: bytes) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE):
        while words not in await asyncio.to_thread(process.stderr.readline):
            assert process.poll() is None


async def size_of(folder: Path, more_than: int) -> int:
    async with asyncio.timeout(PATIENCE):
        while (size := sum(path.stat().st_size for path in folder.glob("*"))) <= more_than:
            await asyncio.sleep(0.02)
    return size


def test_what_passed_is_recorded_once_over_a_kill(tmp_path: Path, taps: list[subprocess.Popen[bytes]]) -> None:
    packets = [with_filter(f"m{number}", "ann", 1_000 + number, number) for number in range(4)]

    async def talk() -> None:
        port = free_port()
        url = f"mqtt://127.0.0.1:{port}"
        async with embedded(BrokerConfig(port=port)), connected(quick(url)) as (client, _):
            taps.append(tap(tmp_path, url))
            await line_with(taps[0], b"recording from")
            size = 0
            for raw in packets[:2]:
                client.publish("sds/1/lobby/msg", raw)
                size = await size_of(tmp_path / "tap" / SPOOL, size)
            taps[0].kill()
            await asyncio.to_thread(taps[0].wait)
            assert not list((tmp_path / "tap").glob("*.jsonl"))
            taps.append(tap(tmp_path, url))
            await line_with(taps[1], b"taken over from a run that was killed")
            await line_with(taps[1], b"recording from")
            size = 0
            for raw in packets[2:]:
                client.publish("sds/1/lobby/msg", raw)
                size = await size_of(tmp_path / "tap" / SPOOL, size)
            taps[1].send_signal(signal.SIGINT)
            await line_with(taps[1], b"2 packets in 1 segments")

    asyncio.run(talk())
    memory = PacketMemory()
    rows = [row for path in files([tmp_path / "tap"]) for row in read_file(Reading(FIELD, path, 1, memory))]
    heard = sorted((row.message_id or "", row.raw) for row in rows if isinstance(row, Packet) and row.kind == "message")
    assert heard == [(f"m{number}", raw) for number, raw in enumerate(packets)]
    assert len(rows) == len(heard)


def test_no_broker_ends_with_3(tmp_path: Path) -> None:
    url = f"mqtt://127.0.0.1:{free_port()}"
    done = run_process(tmp_path / "home", "tap", "lobby", "--to", "tap", "--broker", url)
    assert (done.returncode, "Nothing listens" in done.stderr) == (3, True)
