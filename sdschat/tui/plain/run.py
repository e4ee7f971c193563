"""Running the application without a screen: lines in, lines out."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from sdschat.node.node import Node
from sdschat.node.stdin import lines
from sdschat.node.tasks import first
from sdschat.node.view.conversations import Conversations
from sdschat.tui import preferences as prefs
from sdschat.tui.plain.host import PlainHost

_ESCAPE: Final = "\x1b"


async def run_plain(
    node: Node,
    channels: Sequence[str],
    *,
    file: Path | None = None,
    stdin: int = 0,
    out: TextIO | None = None,
    said: Sequence[str] = (),
) -> int:
    """Run until the input ends, or /quit, and return the exit code. `file`: the user's own preferences. `said`: lines
    to begin with."""
    gc.enable()
    view = Conversations(node)
    try:
        preferences, problems = prefs.load(file, view.value(prefs.KEPT_AS))
        host = PlainHost(view, channels, preferences, out or sys.stdout)
        host.start([*problems, *said])
        await first(_read(host, stdin), host.ended.wait())
        for model in host.desktop.models.values():
            model.save_mark()
    finally:
        view.close()
    return 0


async def _read(host: PlainHost, descriptor: int) -> None:
    """Take every line as a message or a command. A line that ends with the escape of Alt+Enter goes on in the next."""
    begun = ""
    async for found in lines(descriptor):
        for line in found:
            text = begun + line.decode(errors="replace").rstrip("\r\n")
            begun = f"{text[:-1]}\n" if text.endswith(_ESCAPE) else ""
            if not begun and text.strip() and await host.input_handler.submit(text) and host.ended.is_set():
                return
    if begun.strip():
        await host.input_handler.submit(begun.rstrip("\n"))
