"""Standard input by bursts, and standard output by whole lines, without blocking the loop."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import AsyncIterator, Callable

from sdschat.node.stdin import chunk

_MOST, _LEAST = 4 * 1024 * 1024, 1024 * 1024  # bytes that wait for the reader of our output
_PATIENCE = 2.0  # seconds, at the end


async def bursts(descriptor: int, limit: int, pause: float) -> AsyncIterator[bytes]:
    """What comes together: whole lines until nothing comes for `pause` seconds, and no more than `limit` bytes."""
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
    """At the end of a line, or, where one is longer than that, between two characters."""
    at = data.rfind(b"\n", 0, limit) + 1 or limit
    while at > limit - 4 and data[at] & 0xC0 == 0x80:
        at -= 1
    return data[:at], data[at:]


class LineWriter:
    """Whole lines to a descriptor, without ever waiting in `write`: a reader that hangs must not hang the node."""

    def __init__(self, descriptor: int, gone: Callable[[], None], full: Callable[[bool], None]) -> None:
        """`gone` is called when nobody reads any more; `full` when so much waits that no more should come, and when
        that is over."""
        self._descriptor = descriptor
        self.failure: OSError | None = None  # why it is not written; a reader that is gone is no failure
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
        """As much as the descriptor takes now; the rest when it takes more."""
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
            # No more than a pipe that is ready takes for sure: the descriptor may be one that blocks.
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
        """Write what is left, as long as somebody takes it."""
        if not self._broken:
            self._try_push(_PATIENCE)
