"""`sdschat tap` at a real broker: a recording, a kill, a takeover, and reading by the pipeline."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdschat.audit.schemas import FIELD, Packet
from sdschat.audit.sources.databases import Reading
from sdschat.audit.sources.packets import Memory
from sdschat.cli.tap import tap_folder
from sdschat.lake.sources.survey import find
from sdschat.transport.base import Published
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.client import MqttTransport
from sdschat.transport.segments import SPOOL, Recorded, Spool, known_in
from tests.audit.worlds import with_filter
from tests.cli.processes import command, environment
from tests.cli.processes import run as run_process
from tests.lake.by_row import read_file
from tests.transport.worlds import Mosquitto, Recorder, connected, embedded, free_port, quick

PATIENCE = 60.0
TOPIC = "sds/1/lobby/msg"


@pytest.fixture
def taps(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Kill the processes that still run at the end."""
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
        said = b""
        while words not in (line := await asyncio.to_thread(process.stderr.readline)):
            assert line, f"it ended with {process.wait()} and did not say {words!r} but {said!r}"
            said += line


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
                client.publish(TOPIC, raw)
                size = await size_of(tmp_path / "tap" / SPOOL, size)
            taps[0].kill()
            await asyncio.to_thread(taps[0].wait)
            assert not list((tmp_path / "tap").glob("*.jsonl"))
            taps.append(tap(tmp_path, url))
            await line_with(taps[1], b"taken over from a run that was killed")
            await line_with(taps[1], b"recording from")
            size = 0
            for raw in packets[2:]:
                client.publish(TOPIC, raw)
                size = await size_of(tmp_path / "tap" / SPOOL, size)
            taps[1].send_signal(signal.SIGINT)
            await line_with(taps[1], b"2 packets in 1 segment in ")

    asyncio.run(talk())
    memory = Memory(sized=True)
    rows = [row for path in find([tmp_path / "tap"]).files for row in read_file(Reading(FIELD, path, 1, memory))]
    heard = sorted((row.message_id or "", row.raw) for row in rows if isinstance(row, Packet) and row.kind == "message")
    assert heard == [(f"m{number}", raw) for number, raw in enumerate(packets)]
    assert len(rows) == len(heard)


def test_no_broker_ends_with_3(tmp_path: Path) -> None:
    url = f"mqtt://127.0.0.1:{free_port()}"
    done = run_process(tmp_path / "home", "tap", "lobby", "--to", "tap", "--broker", url)
    assert (done.returncode, "Nothing listens" in done.stderr) == (3, True)


def heard(folder: Path) -> list[str]:
    """Return the ids of the messages in the segments, as the pipeline reads them."""
    memory = Memory(sized=True)
    rows = [row for path in find([folder]).files for row in read_file(Reading(FIELD, path, 1, memory))]
    assert all(isinstance(row, Packet) for row in rows)
    return sorted(row.message_id or "" for row in rows if isinstance(row, Packet) and row.kind == "message")


def test_what_passes_while_no_tap_runs_is_recorded_once_by_the_next_one(
    tmp_path: Path, taps: list[subprocess.Popen[bytes]]
) -> None:
    """Send m0 while a tap runs, m1 after its kill, m2 while the next one runs, m3 after that one was interrupted."""
    folder = tmp_path / "tap"

    async def one_run(client: MqttTransport, end: signal.Signals, *live: bytes) -> None:
        taps.append(tap(tmp_path, broker.url))
        await line_with(taps[-1], b"recording from")
        size = await size_of(folder / SPOOL, 0) if len(taps) > 1 else 0
        for raw in live:
            client.publish(TOPIC, raw)
            size = await size_of(folder / SPOOL, size)
        taps[-1].send_signal(end)
        await asyncio.to_thread(taps[-1].wait)

    async def taken(client: MqttTransport, facts: Recorder, raw: bytes) -> None:
        client.publish(TOPIC, raw, tag=raw)
        await facts.until(Published, where=lambda fact: fact.tag == raw)

    async def talk() -> None:
        async with broker, connected(quick(broker.url)) as (client, facts):
            await one_run(client, signal.SIGKILL, packets[0])
            await taken(client, facts, packets[1])
            await one_run(client, signal.SIGINT, packets[2])
            await taken(client, facts, packets[3])
            await one_run(client, signal.SIGINT)

    names = [f"m{number}" for number in range(4)]
    packets = [with_filter(name, "ann", 1_000 + number, number) for number, name in enumerate(names)]
    broker = Mosquitto(tmp_path)
    asyncio.run(talk())
    assert heard(folder) == names


def test_a_packet_that_the_broker_sends_again_is_known_by_its_number(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "tap1")
    spool.take(Recorded(1, TOPIC, "lobby", False, b"raw", packet_id=7))
    spool.close()
    (tmp_path / "other.jsonl").write_text("[1]\nno json\n")
    known = known_in(tmp_path)
    assert known.has(7, TOPIC, b"raw")
    assert not known.has(8, TOPIC, b"raw")
    assert not known.has(7, TOPIC, b"other")


def test_a_second_tap_of_the_same_folder_is_told(tmp_path: Path) -> None:
    with tap_folder(tmp_path / "tap"):
        done = run_process(
            tmp_path / "home", "tap", "lobby", "--to", str(tmp_path / "tap"), "--broker", "mqtt://[::1]:1"
        )
    assert (done.returncode, "Another tap records into" in done.stderr) == (2, True)
