"""The second part of the start, after the first frame: the rest of the program is imported, and the channels joined.

It is done in steps, and keys are handled between two steps. Any input but a letter makes all steps left run at once, so
that no command can meet a channel that is not joined.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Final

from textual import events

PAUSE: Final = 0.001  # seconds between two steps, in which the event loop handles keys


# Modules that only a joined channel needs. Importing all at once would delay a user who types.
PIECES: Final = (
    "sdschat.sds.state",
    "sdschat.sds.channel",
    "sdschat.node.channel.basic_extensions",
    "sdschat.node.channel.session",
    "sdschat.node.channel.opening",
    "sdschat.node.channel.commit",
    "sdschat.identity.author_chain",
    "sdschat.node.channel.author_chains",
    "sdschat.transport.mqtt",
    "sdschat.transport.client",
    "sdschat.transport.embedded",
    "sdschat.node.store_client.client",
    "sdschat.mvds.core",
    "sdschat.catchup.session",
    "sdschat.node.sync.history_sync",
    "sdschat.node.sync.direct",
    "sdschat.node.sync.extension",
    "sdschat.node.members.channel",
    "sdschat.node.private.opening",
)


def load() -> Iterator[str]:
    """Import one piece for each step, and yield its name."""
    for piece in PIECES:
        import_module(piece)
        yield piece


class Startup:
    """The steps for an application whose channels are listed already, and shown as they were left."""

    def __init__(self, channels: Sequence[str], join: Callable[[str], object], soon: Callable[..., object]) -> None:
        """`soon` calls a function once, after so many seconds."""
        self.done = False
        self._soon = soon
        self._steps = self._all(channels, join)

    def begin(self) -> None:
        """Begin with the steps. To be called when the first frame is on the screen."""
        self._soon(PAUSE, self._go_on)

    def _go_on(self) -> None:
        next(self._steps, None)
        if not self.done:
            self.begin()

    def finish(self) -> None:
        """Do all steps that are left, at once."""
        for _ in self._steps:
            pass

    def before(self, event: events.Event) -> None:
        """Finish before an input event is handled, unless it is only a letter."""
        if not self.done and isinstance(event, events.InputEvent) and not _is_letter(event):
            self.finish()

    def _all(self, channels: Sequence[str], join: Callable[[str], object]) -> Iterator[str]:
        try:
            yield from load()
            for name in channels:
                join(name)
                yield name
        finally:  # a step that fails ends the program; until then no step is tried again
            self.done = True
        _collect_garbage()


def _is_letter(event: events.InputEvent) -> bool:
    return isinstance(event, events.MouseMove) or (isinstance(event, events.Key) and event.is_printable)


def _collect_garbage() -> None:
    """Turn garbage collection on, and exempt everything loaded so far from it."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
