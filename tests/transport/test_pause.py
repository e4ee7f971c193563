"""A transport that is paused, because the handler's side is full: against a real broker."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from sdschat.transport.base import Connected, Disconnected, Published, Received, Topics
from sdschat.transport.mqtt import PahoLink
from tests.transport.worlds import PATIENCE, Mosquitto, client, connected, quick, run

TOPICS = Topics("lobby")


def test_pausing_holds_the_network_and_resuming_loses_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            Mosquitto(tmp_path) as mosquitto,
            connected(quick(mosquitto.url)) as (alice, told),
            connected(quick(mosquitto.url, probe_every=0.1, probe_patience=0.1), TOPICS.msg) as (bob, heard),
        ):
            bob.pause()
            for number in range(500):
                alice.publish(TOPICS.msg, b"%d" % number, tag=number)
            await told.until(Published, 500)
            assert not heard.of(Received)
            bob.resume()
            await heard.until(Received, 500)
            assert [got.payload for got in heard.of(Received)] == [b"%d" % number for number in range(500)]
            assert not heard.of(Disconnected)

    run(scenario)


@pytest.mark.parametrize("sends", [False, True])
def test_a_long_pause_is_no_silence_of_the_broker(sends: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers to keep-alives are not read meanwhile: the connection was given up, and the broker blamed."""
    passed, tick, ticks = time.monotonic, PahoLink.tick, 0

    def count(self: PahoLink) -> None:
        nonlocal ticks
        ticks += 1
        tick(self)

    monkeypatch.setattr(PahoLink, "tick", count)

    async def scenario() -> None:
        async with (
            Mosquitto(tmp_path) as mosquitto,
            connected(quick(mosquitto.url, tick=0.01), TOPICS.msg) as (bob, heard),
        ):
            bob.pause()
            began = sent = ticks
            monkeypatch.setattr("paho.mqtt.client.time_func", lambda: passed() + 10 * (ticks - began))
            async with asyncio.timeout(PATIENCE):
                while ticks < began + 30:
                    await asyncio.sleep(0.01)
                    if sends and ticks > max(sent, began + 8):
                        sent = ticks
                        bob.publish(TOPICS.msg, b"x")
            assert not heard.of(Disconnected)
            bob.resume()
            bob.publish(TOPICS.msg, b"x", tag=1)
            await heard.until(Published)

    run(scenario)


def test_a_connection_is_made_during_a_pause_too(tmp_path: Path) -> None:
    """It was said of the broker that it takes connections and does not answer."""

    async def scenario() -> None:
        async with (
            Mosquitto(tmp_path) as mosquitto,
            connected(quick(mosquitto.url)) as (alice, told),
            client(quick(mosquitto.url), TOPICS.msg) as (bob, heard),
        ):
            bob.pause()
            await heard.until(Connected)
            alice.publish(TOPICS.msg, b"x", tag=1)
            await told.until(Published)
            assert not heard.of(Received)
            bob.resume()
            await heard.until(Received)

    run(scenario)
