"""A broker that does not keep to MQTT."""

from __future__ import annotations

import asyncio
import contextlib

from sdschat.transport.base import Connected, Disconnected, Received, Why
from tests.transport.worlds import client, quick, run

_MANY = 64


def test_packets_that_are_never_released_are_not_kept() -> None:
    """We subscribe with QoS 1, so no broker has a packet of QoS 2 for us. One that sends them had each kept: up to
    65,535 of a mebibyte."""

    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            five = (await reader.read(1000))[8] == 5
            more = b"\0" if five else b""
            writer.write(b"\x20" + bytes([2 + len(more)]) + b"\0\0" + more)
            number = (await reader.read(1000))[2:4]
            writer.write(b"\x90" + bytes([4 + len(more)]) + number + more + b"\1\1")
            for packet_id in range(1, _MANY):
                body = b"\0\x0bsds/1/x/msg" + packet_id.to_bytes(2) + more + bytes(50)
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
