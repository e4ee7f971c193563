"""Standard input in bursts, and standard output in whole lines, without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import AsyncIterator, Callable

from sdschat.node.stdin import chunk

_MOST, _LEAST = 4 * 1024 * 1024, 1024 * 1024  # bytes waiting for the reader: `full` begins above, and ends below
_PATIENCE = 2.0  # seconds in which `finish` waits for the reader


async def bursts(descriptor: int, limit: int, pause: float) -> AsyncIterator[bytes]:
    """Yield bursts of input: whole lines up to a silence of `pause` seconds, at most `limit` bytes each."""
    held = b""
    while True:
        try:
            async with asyncio.timeout(pause if b"\n" in held else None):
                found = await chunk(descriptor)
        except TimeoutError:
            whole, _, held = held.rpartition(b"\n")
            yield whole + b"\n"
            continue
        if not found:
            break
        held += found
        while len(held) > limit:
            part, held = _cut(held, limit)
            yield part
    if held:
        yield held


def _cut(data: bytes, limit: int) -> tuple[bytes, bytes]:
    """Cut within `limit` bytes, at the end of a line, or between two characters of a longer line."""
    at = data.rfind(b"\n", 0, limit) + 1 or limit
    while at > limit - 4 and data[at] & 0xC0 == 0x80:
        at -= 1
    return data[:at], data[at:]


class LineWriter:
    """Writes whole lines to a descriptor; `write` never waits, so that a hanging reader cannot hang the node."""

    def __init__(self, descriptor: int, gone: Callable[[], None], full: Callable[[bool], None]) -> None:
        """`gone` is called when the reader has closed; `full` with True when too much waits, with False when it does
        not any more."""
        self._descriptor = descriptor
        self.failure: OSError | None = None  # the reason why nothing is written any more; not a closed reader
        self._gone = gone
        self._tell_full = full
        self._lines: list[str] = []
        self._rest = memoryview(b"")
        self._waiting = self._broken = self._full = False
        self._size = 0

    def write(self, line: str) -> None:
        if self._broken:
            return
        if not self._lines and not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._lines.append(line)
        self._size += len(line) + 1
        self._judge()

    def _flush(self) -> None:
        """Write as much as the descriptor takes now, and the rest when it is ready again."""
        self._try_push(0.0)
        blocked = bool(self._rest or self._lines) and not self._broken
        if blocked != self._waiting:
            self._waiting = blocked
            loop = asyncio.get_running_loop()
            if blocked:
                loop.add_writer(self._descriptor, self._flush)
            else:
                loop.remove_writer(self._descriptor)
        self._judge()

    def _try_push(self, patience: float) -> None:
        try:
            self._push(patience)
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.failure = error
            self._break_off()

    def _push(self, patience: float) -> None:
        while self._rest or self._lines:
            if not self._rest:
                found, self._lines = self._lines, []
                self._rest = memoryview("".join(f"{line}\n" for line in found).encode())
            if not select.select([], [self._descriptor], [], patience)[1]:
                return
            # PIPE_BUF at most: a ready pipe takes so much for sure, and the descriptor may be a blocking one.
            written = os.write(self._descriptor, self._rest[: select.PIPE_BUF])
            self._rest = self._rest[written:]
            self._size -= written

    def _break_off(self) -> None:
        self._broken = True
        self._lines, self._rest, self._size = [], memoryview(b""), 0
        self._gone()

    def _judge(self) -> None:
        full = self._size > (_LEAST if self._full else _MOST)
        if full != self._full:
            self._full = full
            self._tell_full(full)

    def finish(self) -> None:
        """Write the rest, as long as the reader takes it."""
        if not self._broken:
            self._try_push(_PATIENCE)
