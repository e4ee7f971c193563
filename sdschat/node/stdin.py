"""Reading what a person or a program types, from the loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Final

_CHUNK: Final = 65536
_LONGEST: Final = 1024 * 1024  # of a line: nothing that long fits into a packet


async def chunk(descriptor: int) -> bytes:
    """Read what has come in, and wait for it; empty at the end. The descriptor is not made non-blocking, because the
    terminal behind it may be that of standard output as well; it is only read when there is something."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file, or /dev/null: always ready
        await asyncio.sleep(0)
    else:
        try:
            await ready.wait()
        finally:
            loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK)


async def has_input(descriptor: int) -> bool:
    """True if something has come in, which is read. False at the end, and where nothing is there yet."""
    try:
        async with asyncio.timeout(0.1):
            return bool(await chunk(descriptor))
    except TimeoutError:
        return False


async def lines(descriptor: int) -> AsyncIterator[list[bytes]]:
    """Yield whole lines, as many at a time as came together; the last one may lack its end."""
    rest = b""
    while found := await chunk(descriptor):
        *whole, rest = (rest + found).split(b"\n")
        if len(rest) > _LONGEST:
            whole, rest = [*whole, rest], b""
        if whole:
            yield whole
    if rest:
        yield [rest]
