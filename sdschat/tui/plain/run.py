"""Running the plain form: lines in, lines out."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from sdschat.node.node import Node
from sdschat.node.view import NodeView
from sdschat.tui import preferences as prefs
from sdschat.tui.plain.host import PlainHost

_LONGEST: Final = 1 << 20  # of a line: nothing that long fits into a message


async def run_plain(
    node: Node, channels: Sequence[str], *, file: Path | None = None, stdin: int = 0, out: TextIO | None = None
) -> int:
    """Until the input ends, or /quit. Gives the exit code. `file`: the person's own preferences."""
    gc.enable()
    view = NodeView(node)
    try:
        preferences, problems = prefs.load(file, view.value(prefs.KEPT_AS))
        host = PlainHost(view, channels, preferences, out or sys.stdout)
        host.start(problems)
        reading = asyncio.ensure_future(_read(host, stdin))
        leaving = asyncio.ensure_future(host.ended.wait())
        try:
            await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
        finally:
            reading.cancel()
            leaving.cancel()
        for model in host.desktop.models.values():
            model.save_mark()
    finally:
        view.close()
    return 0


async def _read(host: PlainHost, descriptor: int) -> None:
    """Every line is a message or a command."""
    async for line in _lines(descriptor):
        text = line.decode(errors="replace").rstrip("\r\n")
        if text.strip() and await host.typist.submit(text) and host.ended.is_set():
            return


async def _lines(descriptor: int) -> AsyncIterator[bytes]:
    """Lines as they come, without making the descriptor non-blocking: the terminal behind it is ours to write, too."""
    loop, rest = asyncio.get_running_loop(), b""
    while True:
        ready = asyncio.Event()
        try:
            loop.add_reader(descriptor, ready.set)
        except PermissionError:  # a file: always ready
            await asyncio.sleep(0)
        else:
            try:
                await ready.wait()
            finally:
                loop.remove_reader(descriptor)
        chunk = os.read(descriptor, 65536)
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
        if not chunk or len(rest) > _LONGEST:
            if rest:
                yield rest
            rest = b""
        if not chunk:
            return
