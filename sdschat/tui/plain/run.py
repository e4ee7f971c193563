"""Running the plain form: lines in, lines out."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from sdschat.node.input import lines
from sdschat.node.node import Node
from sdschat.node.places import Places
from sdschat.tui import preferences as prefs
from sdschat.tui.plain.host import PlainHost


async def run_plain(
    node: Node, channels: Sequence[str], *, file: Path | None = None, stdin: int = 0, out: TextIO | None = None
) -> int:
    """Until the input ends, or /quit. Gives the exit code. `file`: the person's own preferences."""
    gc.enable()
    view = Places(node)
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
    async for found in lines(descriptor):
        for line in found:
            text = line.decode(errors="replace").rstrip("\r\n")
            if text.strip() and await host.typist.submit(text) and host.ended.is_set():
                return
