"""A broker that does not keep to MQTT."""

from __future__ import annotations

import asyncio
import contextlib

from sdschat.transport.base import (
    Connected,
    Disconnected,
    ProbeUnanswered,
    Published,
    PublishFailed,
    Received,
    SubscribeRefused,
    Why,
)
from tests.transport.worlds import client, quick, run

_MANY = 64


async def _take_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: bytes = b"\1\1") -> bytes:
    """Accept a connection, and answer its two subscriptions. Return what stands for no properties: nothing before MQTT
    5."""
    five = (await reader.read(1000))[8] == 5
    none = b"\0" if five else b""
    writer.write(b"\x20" + bytes([2 + len(none)]) + b"\0\0" + none)
    number = (await reader.read(1000))[2:4]
    writer.write(b"\x90" + bytes([2 + len(none) + len(answers)]) + number + none + answers)
    return none


def test_packets_that_are_never_released_are_not_kept() -> None:
    """We subscribe with QoS 1, so no broker has a packet of QoS 2 for us. One that sends them had each kept: up to
    65,535 of a mebibyte."""

    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            none = await _take_in(reader, writer)
            for packet_id in range(1, _MANY):
                body = b"\0\x0bsds/1/x/msg" + packet_id.to_bytes(2) + none + bytes(50)
                writer.write(bytes([0x34, len(body)]) + body)
            with contextlib.suppress(ConnectionError):
                await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with client(quick(f"mqtt://127.0.0.1:{port}"), "sds/1/x/#") as (_, facts):
            await facts.until(Connected)
            lost = await facts.until(Disconnected)
            assert lost.why is Why.PROTOCOL
            assert not facts.of(Received)
        server.close()
        await server.wait_closed()

    run(scenario)


def test_a_broker_that_hangs_up_at_a_small_packet_is_not_said_to_want_less() -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _take_in(reader, writer)
            with contextlib.suppress(ConnectionError):
                await reader.read(1000)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        options = quick(f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}", backoff_longest=0.1, probe_every=60.0)
        async with client(options, "sds/1/x/#") as (transport, facts):
            await facts.until(Connected)
            transport.publish("sds/1/x/msg", b"hello", tag=1)
            failed = await facts.until(PublishFailed)
            assert failed.detail == "The broker hung up each time these 16 bytes came. Look in its log for the reason."
        server.close()
        await server.wait_closed()

    run(scenario)


def test_no_more_packets_are_under_way_than_the_broker_allows() -> None:
    """A broker that gets more of them ends the connection, by the standard."""
    came = bytearray()

    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.write(b"\x20\x06\0\0\x03\x21\0\x02")  # Receive Maximum is 2
            number = (await reader.read(1000))[2:4]
            writer.write(b"\x90\x05" + number + b"\0\1\1")
            while came.count(b"hello") < 2:
                came.extend(await reader.read(1000))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    came.extend(await reader.read(1000))
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        options = quick(f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}", probe_every=60.0)
        async with client(options, "sds/1/x/#") as (transport, facts):
            for number in range(6):
                transport.publish("sds/1/x/msg", b"hello", tag=number)
            await facts.until(Disconnected)
            assert came.count(b"hello") == 2
        server.close()
        await server.wait_closed()

    run(scenario)


def test_a_refused_subscription_behind_an_accepted_one_is_told() -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _take_in(reader, writer, b"\1\x80")
            await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        options = quick(f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}", probe_every=60.0)
        async with client(options, "sds/1/x/#") as (_, facts):
            refused = await facts.until(SubscribeRefused)
            assert refused.topic_filter == "sds/1/x/#"
            assert not facts.of(ProbeUnanswered), "that of the probe was accepted"
        server.close()
        await server.wait_closed()

    run(scenario)


def test_each_packet_is_acknowledged_once_whatever_the_broker_acknowledges_in_which_order() -> None:
    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            def acknowledge(packet_id: int) -> None:
                writer.write(b"\x40\2" + packet_id.to_bytes(2))

            await _take_in(reader, writer)
            came = b""
            for packet_id in range(1, 40):
                acknowledge(packet_id)  # nothing was sent yet
            while came.count(b"hello") < 8:
                came += await reader.read(1000)
            ids = [int.from_bytes(part[-3:-1]) for part in came.split(b"hello")[:-1]]
            for packet_id in reversed(ids):
                acknowledge(packet_id)
                acknowledge(packet_id)
            await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        options = quick(f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}", probe_every=60.0)
        async with client(options, "sds/1/x/#") as (transport, facts):
            await facts.until(Connected)
            for number in range(8):
                transport.publish("sds/1/x/msg", b"hello", tag=number)
            await facts.until(Published, 8)
            assert [one.tag for one in facts.of(Published)] == list(reversed(range(8)))
        server.close()
        await server.wait_closed()

    run(scenario)
