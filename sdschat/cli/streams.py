"""Standard input by lines without blocking the loop, and standard output by whole lines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable

_CHUNK = 65536
_LONGEST = 1024 * 1024  # of a line: nothing that long fits into a packet


async def chunks(descriptor: int) -> AsyncIterator[bytes]:
    """What comes in, as it comes. The descriptor is not made non-blocking, because the terminal behind it may be
    that of standard output as well; it is only read when there is something."""
    loop = asyncio.get_running_loop()
    while True:
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
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return
        yield chunk


async def lines(descriptor: int) -> AsyncIterator[list[bytes]]:
    """Whole lines, as many at a time as came together; the last one may lack its end."""
    rest = b""
    async for chunk in chunks(descriptor):
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST:
            whole, rest = [*whole, rest], b""
        if whole:
            yield whole
    if rest:
        yield [rest]


class LineWriter:
    """Whole lines to a descriptor, those of one turn of the loop together."""

    def __init__(self, descriptor: int, gone: Callable[[], None]) -> None:
        """`gone` is called when nobody reads any more."""
        self._descriptor = descriptor
        self._gone = gone
        self._lines: list[str] = []
        self._broken = False

    def write(self, line: str) -> None:
        if not self._lines:
            asyncio.get_running_loop().call_soon(self.flush)
        self._lines.append(line)

    def flush(self) -> None:
        found, self._lines = self._lines, []
        if not found or self._broken:
            return
        data = memoryview("".join(f"{line}\n" for line in found).encode())
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            self._broken = True
            self._gone()
