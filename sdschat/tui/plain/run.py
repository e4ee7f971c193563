"""Running the application without a screen: lines in, lines out."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sdschat.node.node import Node
from sdschat.node.tasks import first
from sdschat.node.view.conversations import Conversations
from sdschat.tui import preferences as prefs
from sdschat.tui.plain.host import PlainHost
from sdschat.tui.plain.line_editor import LineInput, line_input

_STDIN: Final = 0
_INTERRUPTED: Final = 130  # the exit code of whoever leaves in haste
_NO_KEYS: Final = "That was a key, and only lines are read here: nothing was sent. /help lists what to type."
_PASTED: Final = "{} lines were pasted: Enter sends them as one message, Ctrl+U drops them."
_AGAIN: Final = "Ctrl+C again leaves. What was half typed is dropped."


class Interrupts:
    """Takes Ctrl+C: what is half typed is dropped, and the second press leaves."""

    def __init__(self, host: PlainHost, typing: LineInput) -> None:
        self._host, self._typing = host, typing
        self._pressed = 0

    def press(self) -> None:
        self._pressed += 1
        if self._pressed > 2:  # it does not end by itself: all that was reported as saved is on disk
            self._typing.close()
            os._exit(_INTERRUPTED)
        self._typing.drop()
        if self._pressed == 1:
            self._host.show_notice(_AGAIN)
        else:
            self._host.leave()

    def forget(self) -> None:
        self._pressed = 0


async def run_plain(
    node: Node,
    channels: Sequence[str],
    *,
    file: Path,
    said: Sequence[str],
) -> int:
    """Run until the input ends, or /quit, and return the exit code. `file`: the user's own preferences. `said`: lines
    to begin with."""
    gc.enable()
    view = Conversations(node)
    typing = line_input(_STDIN, sys.stdout)
    try:
        preferences, problems = prefs.load(file, view.value(prefs.KEPT_AS))
        host = PlainHost(view, channels, preferences, sys.stdout, typing.write)
        host.start([*problems, *prefs.moved_words(view, channels), *said])
        interrupts = Interrupts(host, typing)
        if os.isatty(_STDIN):
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupts.press)
        await first(_read(host, typing, interrupts), host.ended.wait())
        host.save()
        if left := host.workspace.unsent_words():
            host.show_notice(left)
    finally:
        typing.close()
        view.close()
    return 0


async def _read(host: PlainHost, typing: LineInput, interrupts: Interrupts) -> None:
    """Take every line as a message or a command."""
    async for found in typing.typed():
        for line in found:
            interrupts.forget()
            if line.text.strip():
                if await host.input_handler.submit(line.text) and host.ended.is_set():
                    return
            elif line.pasted:
                host.show_notice(_PASTED.format(line.pasted))
            elif line.keys:
                host.warn(_NO_KEYS)
