"""Hosting of the embedded broker, and the takeover by another process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sdschat.transport.base import Connected, Disconnected, Published, Received
from sdschat.transport.broker import BrokerConfig, BrokerError, EmbeddedBroker
from sdschat.transport.embedded import EmbeddedHosting
from tests.needs import needs_module
from tests.transport.worlds import connected, free_port, listens, quick, run

LOCAL = "mqtt://127.0.0.1"


HOST = """
import asyncio, sys
from sdschat.transport.broker import BrokerConfig
from sdschat.transport.embedded import EmbeddedHosting

async def main():
    hosting = EmbeddedHosting(BrokerConfig(port=int(sys.argv[1])))
    await hosting.ensure()
    print(hosting.hosting, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def host_process(port: int) -> subprocess.Popen[str]:
    """Start another process of our program that hosts the broker."""
    root = Path(__file__).resolve().parents[2]
    environ = {**os.environ, "PYTHONPATH": str(root)}
    process = subprocess.Popen([sys.executable, "-c", HOST, str(port)], stdout=subprocess.PIPE, text=True, env=environ)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def test_the_next_process_finds_the_broker_and_takes_over_when_its_host_is_killed() -> None:
    """After kill -9 of the host the others are connected again within three seconds, and no waiting packet is lost."""
    needs_module("iotcore")

    async def scenario() -> None:
        port = free_port()
        process = host_process(port)
        told: list[bool] = []
        hostings = [EmbeddedHosting(BrokerConfig(port=port), told.append) for _ in range(3)]
        options = [hosting.options(quick(f"{LOCAL}:{port}")) for hosting in hostings]
        try:
            async with (
                connected(options[0], "t") as (alice, alice_facts),
                connected(options[1], "t") as (bob, bob_facts),
                connected(options[2], "t") as (_, carol_facts),
            ):
                everybody = (alice_facts, bob_facts, carol_facts)
                assert not any(hosting.hosting for hosting in hostings)
                process.send_signal(signal.SIGKILL)
                killed = time.monotonic()
                for number in range(100):
                    alice.publish("t", b"%d" % number, tag=number)
                for facts in everybody:
                    await facts.until(Connected, 2)
                assert time.monotonic() - killed < 3
                bob.publish("t", b"last", tag="last")
                await carol_facts.until(Received, where=lambda got: got.payload == b"last")
                await alice_facts.until(Published, 100)
                assert [hosting.hosting for hosting in hostings].count(True) == 1
                assert told == [True]
        finally:
            process.kill()
            process.communicate()
            await asyncio.gather(*(hosting.close() for hosting in hostings))
        assert told == [True, False]
        assert not listens("127.0.0.1", port)

    run(scenario)


def test_the_broker_of_a_chat_that_ends_while_we_ask_for_it_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_module("iotcore")

    async def scenario() -> None:
        broker = EmbeddedBroker(BrokerConfig(port=free_port()), inherited=True)
        hosting = EmbeddedHosting(broker.config)
        await broker.start()

        async def answers_and_ends() -> bool:
            answered = await EmbeddedHosting._answers(hosting)
            await broker.stop()
            return answered

        monkeypatch.setattr(hosting, "_answers", answers_and_ends)
        try:
            await hosting.ensure()
            await hosting.ensure()
            assert hosting.hosting
        finally:
            await hosting.close()
            await broker.stop()

    run(scenario)


def test_a_broker_that_somebody_starts_at_the_same_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_module("iotcore")

    async def scenario() -> None:
        broker = EmbeddedBroker(BrokerConfig(port=free_port()))
        hosting = EmbeddedHosting(broker.config)
        await broker.start()
        looks = iter([False])

        async def answers_from_the_second_look_on() -> bool:
            return next(looks, True) and await EmbeddedHosting._answers(hosting)

        monkeypatch.setattr(hosting, "_answers", answers_from_the_second_look_on)
        try:
            await hosting.ensure()
            await broker.stop()
            with pytest.raises(BrokerError, match="Start it again"):
                await hosting.ensure()
        finally:
            await hosting.close()
            await broker.stop()

    run(scenario)


def test_a_broker_that_somebody_runs_by_itself_is_waited_for_and_can_start_again() -> None:
    needs_module("iotcore")

    async def scenario() -> None:
        broker = EmbeddedBroker(BrokerConfig(port=free_port()))
        hosting = EmbeddedHosting(broker.config)
        await broker.start()
        try:
            async with connected(hosting.options(quick(f"{LOCAL}:{broker.config.port}"))) as (_, facts):
                await broker.stop()
                await facts.until(Disconnected, where=lambda it: "Start it again; or leave all chats here" in it.detail)
                assert not hosting.hosting, "it would serve this machine alone, on the port of the other"
                await broker.start()
                await facts.until(Connected, 2)
        finally:
            await hosting.close()
            await broker.stop()

    run(scenario)


def test_a_hosted_broker_that_crashed_is_started_again() -> None:
    needs_module("iotcore")

    async def scenario() -> None:
        hosting = EmbeddedHosting(BrokerConfig(port=free_port()))
        options = hosting.options(quick(f"{LOCAL}:{hosting._broker.config.port}"))
        async with connected(options) as (_, facts):
            pid = hosting._broker.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await facts.until(Connected, 2)
            assert hosting._broker.pid not in (None, pid)
        await hosting.close()

    run(scenario)
