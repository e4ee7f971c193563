"""One client takes all places of `sdschat serve`, by ever new cookies: `python -m tests.attacks.seats [--size 8]`."""

from __future__ import annotations

import asyncio
import subprocess
import time
from contextlib import AsyncExitStack

import aiohttp

from sdschat.transport.address import own_addresses
from tests.attacks.attacker import LOOPBACK
from tests.attacks.stage import CHANNEL, Stage, main
from tests.cli.processes import command, environment
from tests.transport.worlds import free_port, listens

_PATIENCE = 30.0


def seats(stage: Stage, size: int) -> bool:
    """A client at one address opens twice as many pages as there are places, each as somebody new.

    Defended if somebody at another address gets a place all the same. `size` is the number of places.
    """
    theirs = next((address for address in own_addresses() if address != LOOPBACK), None)
    if theirs is None:
        raise TimeoutError("this machine has no address but loopback, so that there is one client alone")
    port = free_port()
    place = ("--listen", "0.0.0.0", "--port", str(port), "--allow-remote", "--visitors", str(size))
    process = subprocess.Popen(
        command("serve", CHANNEL, *place, *stage.options),
        cwd=stage.home,
        env=environment(stage.home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + _PATIENCE
        while not listens(LOOPBACK, port):
            if time.monotonic() > until:
                raise TimeoutError("the server does not start")
            time.sleep(0.1)
        taken, other = asyncio.run(_come(theirs, port, size))
    finally:
        process.terminate()
        process.wait(_PATIENCE)
    stage.saw("places that one client has", f"{taken} of {size}")
    stage.saw("answer to somebody at another address", other)
    return taken > 0 and other == 200


async def _come(theirs: str, port: int, size: int) -> tuple[int, int]:
    """Return the number of places taken by one client, and the HTTP status that another one gets for the page."""
    taken = 0
    async with AsyncExitStack() as open_pages:
        for _ in range(2 * size):
            session = await open_pages.enter_async_context(aiohttp.ClientSession())
            address = f"http://{theirs}:{port}"
            try:
                await open_pages.enter_async_context(session.ws_connect(f"{address}/ws", headers={"Origin": address}))
                taken += 1
            except aiohttp.WSServerHandshakeError:
                pass
        other = await open_pages.enter_async_context(aiohttp.ClientSession())
        async with other.get(f"http://{LOOPBACK}:{port}/") as answer:
            return taken, answer.status


if __name__ == "__main__":
    main(seats, 8, "places")
