"""Running the application without a screen: lines in, lines out."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
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
from sdschat.tui.plain.lines import typed_line

_INTERRUPTED: Final = 130  # the exit code of whoever leaves in haste
_NO_KEYS: Final = "That was a key, and only lines are read here: nothing was sent. /help lists what to type."
_AGAIN: Final = "Ctrl+C again leaves. What was half typed is dropped."


class Interrupts:
    """Takes Ctrl+C: the terminal drops what is half typed, and the second press leaves."""

    def __init__(self, host: PlainHost, out: TextIO) -> None:
        self._host, self._out = host, out
        self._pressed = 0

    def press(self) -> None:
        self._pressed += 1
        if self._pressed > 2:  # it does not end by itself: all that was reported as saved is on disk
            os._exit(_INTERRUPTED)
        self._out.write("\n")  # the cursor stands behind the ^C of the terminal
        if self._pressed == 1:
            self._host.show_notice(_AGAIN)
        else:
            self._out.flush()
            self._host.leave()

    def forget(self) -> None:
        self._pressed = 0


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
        out = out or sys.stdout
        host = PlainHost(view, channels, preferences, out)
        host.start([*problems, *said])
        interrupts = Interrupts(host, out)
        if os.isatty(stdin):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupts.press)
        await first(_read(host, stdin, interrupts), host.ended.wait())
        for model in host.desktop.models.values():
            model.save_mark()
    finally:
        view.close()
    return 0


async def _read(host: PlainHost, descriptor: int, interrupts: Interrupts) -> None:
    """Take every line as a message or a command. A line that ends with the escape of Alt+Enter goes on in the next."""
    begun = ""
    async for found in lines(descriptor):
        for line in found:
            interrupts.forget()
            typed = typed_line(line.decode(errors="replace"))
            text = begun + typed.text
            begun = f"{text}\n" if typed.goes_on else ""
            if begun:
                continue
            if text.strip():
                if await host.input_handler.submit(text) and host.ended.is_set():
                    return
            elif typed.keys:
                host.warn(_NO_KEYS)
    if begun.strip():
        await host.input_handler.submit(begun.rstrip("\n"))
